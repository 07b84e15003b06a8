// sizes.hpp: how many jobs a sample of each kind moves, and for how long.
//
// A sample is large enough for SQLite to checkpoint in it, where it can be. Peers that sync for
// each job get a part of it, so that no sample lasts longer than some seconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace muster::bench {

struct Sizes {
  std::uint64_t enqueue_sqlite = 100'000;
  std::uint64_t enqueue_postgres = 40'000;
  std::uint64_t one_by_one = 40'000;
  std::uint64_t commits = 4'000;  // of one job each
  std::uint64_t execute_sqlite = 100'000;
  std::uint64_t execute_postgres = 40'000;
  std::uint64_t peer_jobs = 20'000;   // of those in Node
  std::uint64_t synced_jobs = 5'000;  // of those that sync for each job

  std::uint64_t starts = 300;
  std::uint64_t restart_waiting = 1'000'000;

  std::uint64_t few_waiting = 10'000;
  std::uint64_t many_waiting_sqlite = 5'000'000;
  std::uint64_t many_waiting_postgres = 1'000'000;
  unsigned bursts = 40;  // of as many jobs as few_waiting

  std::uint64_t steady_per_second = 10'000;
  std::chrono::milliseconds steady_time{8000};
};

[[nodiscard]] const Sizes& sizes();

// For --quick, before anything is measured: everything is small.
void be_quick();

}  // namespace muster::bench
