// ring.hpp: a low layer that looks up.
#pragma once

#include <vector>

#include <muster/sync/atomic.hpp>
#include <muster/error.hpp>
#include <muster/queues/slot.hpp>
#include "slot.hpp"
#include "../sync/futex.hpp"
#include <muster/thread_pool.hpp>  // want(layers)
#include "muster/jobs/store.hpp"  // want(layers)
#  include "../policy/retry.hpp"  // want(layers)
#include <muster/widgets/widget.hpp>  // want(layers)
// #include <muster/cli/main.hpp>
const char* kText = R"(
#include <muster/cli/main.hpp>
)";
