// pools.hpp: who takes part in what.
//
// Asio, libthread-pool and the mutex queue have no fork-join: a task that waited for its children
// would keep its worker, and with all workers waiting nobody would run the children. OpenMP takes
// no tasks from outside.
#pragma once

#include "threads/contenders/asio_pool.hpp"
#include "threads/contenders/lib_thread_pool.hpp"
#include "threads/contenders/muster_pool.hpp"
#include "threads/contenders/mutex_pool.hpp"
#include "threads/contenders/open_mp.hpp"
#include "threads/contenders/plain.hpp"
#include "threads/contenders/tbb_fork_join.hpp"
#include "threads/contenders/tbb_pool.hpp"
#include "threads/lineup.hpp"

namespace muster::bench {

// Take tasks from outside.
using PostPools = Lineup<MusterPool, TbbPool, AsioPool, LibThreadPool, MutexPool>;

// Let a task make tasks.
using SpawnPools = Lineup<MusterPool, TbbForkJoin, AsioPool, OpenMp, LibThreadPool, MutexPool>;

// Let a task wait for its children; where it forks in two, TBB has two ways.
using ForkJoinPools = Lineup<MusterPool, Plain, TbbForkJoin, OpenMp>;
using ForkInTwoPools = Lineup<MusterPool, Plain, TbbForkJoin, TbbInvoke, OpenMp>;

}  // namespace muster::bench
