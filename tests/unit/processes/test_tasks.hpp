// test_tasks.hpp: what the workers of tested pools can do, good and bad.
#pragma once

#include <muster/registry.hpp>

namespace muster {

Registry make_test_registry();

}  // namespace muster
