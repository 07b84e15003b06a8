// fake_clock.hpp: tests may include anything.
#pragma once

#include <muster/cli/commands.hpp>
#include "tests/support/other.hpp"
