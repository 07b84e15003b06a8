// sizes.cpp: the sizes, as they are or small.
#include "jobs/sizes.hpp"

namespace muster::bench {
namespace {

Sizes& chosen() {
  static Sizes the_sizes;
  return the_sizes;
}

}  // namespace

const Sizes& sizes() {
  return chosen();
}

void be_quick() {
  chosen() = {.enqueue_sqlite = 10'000,
              .enqueue_postgres = 5'000,
              .one_by_one = 4'000,
              .commits = 400,
              .execute_sqlite = 10'000,
              .execute_postgres = 5'000,
              .peer_jobs = 2'000,
              .synced_jobs = 500,
              .starts = 30,
              .restart_waiting = 20'000,
              .few_waiting = 2'000,
              .many_waiting_sqlite = 50'000,
              .many_waiting_postgres = 20'000,
              .bursts = 3,
              .steady_per_second = 5'000,
              .steady_time = std::chrono::milliseconds(800)};
}

}  // namespace muster::bench
