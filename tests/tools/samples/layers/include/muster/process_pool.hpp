// process_pool.hpp: a public header belongs to the layer in tidy's table.
#pragma once

#include <muster/policy/retry.hpp>
#include <muster/strategy.hpp>
#include <muster/thread_pool.hpp>  // want(layers)
