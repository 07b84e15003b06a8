// ready_pool.hpp: pools all of whose workers are there and have run something.
#pragma once

#include <muster/process_pool.hpp>

namespace muster::bench {

// Workers of every pool, unless said otherwise.
inline constexpr unsigned kWorkers = 2;

// Returns when so many workers can take tasks. Throws std::runtime_error if they never do. Looks
// every 50 us.
void wait_until_ready(const ProcessPool& pool, unsigned workers);

// Returns when no more than so many are left.
void wait_until_gone(const ProcessPool& pool, unsigned workers);

// Waits for all workers, and has them run some empty tasks.
void wake_up(ProcessPool& pool, unsigned workers);

}  // namespace muster::bench
