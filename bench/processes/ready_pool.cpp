// ready_pool.cpp: looks at a pool's metrics, now and then.
#include "processes/ready_pool.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "processes/tasks.hpp"

namespace muster::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <class IsDone>
void look_until(const ProcessPool& pool, const IsDone& is_done) {
  const Clock::time_point deadline = Clock::now() + 60s;
  while (!is_done(pool.metrics().ready)) {
    if (Clock::now() > deadline) {
      throw std::runtime_error(
          "the pool has " + std::to_string(pool.metrics().ready) +
          " workers that are ready, and for a minute not as many as it should");
    }
    std::this_thread::sleep_for(50us);
  }
}

}  // namespace

void wait_until_ready(const ProcessPool& pool, unsigned workers) {
  look_until(pool, [workers](unsigned ready) { return ready >= workers; });
}

void wait_until_gone(const ProcessPool& pool, unsigned workers) {
  look_until(pool, [workers](unsigned ready) { return ready <= workers; });
}

void wake_up(ProcessPool& pool, unsigned workers) {
  constexpr std::size_t kTasksEach = 100;
  wait_until_ready(pool, workers);
  const std::vector<Bytes> payloads(kTasksEach * workers);
  for (Future<Bytes>& future : pool.exec_many(kEmptyTask, payloads)) (void)future.get();
}

}  // namespace muster::bench
