// scaled_pool.cpp: a pool that grows under a burst of tasks and shrinks when it is over.
#include <chrono>
#include <iostream>
#include <thread>

#include <muster/thread_pool.hpp>

namespace {

using namespace std::chrono_literals;

void print(const muster::ScalingChange& change) {
  std::cout << (change.added != 0 ? '+' : '-') << change.added + change.removed << " workers, now "
            << change.total << ": " << change.reason << '\n'
            << std::flush;
}

}  // namespace

int main() {
  muster::ThreadPool pool(
      {.workers = 1,
       .scaling = muster::ScalingOptions{.min_workers = 1,
                                         .max_workers = 6,
                                         .check_every = 10ms,
                                         .scale_up_cooldown = 10ms,
                                         .scale_down_cooldown = 10ms,
                                         .ratio = {.scale_down_idle_timeout = 50ms}},
       .on_scaling = print});
  muster::NoticeStream notices = pool.notices();
  for (int i = 0; i < 40; ++i) {
    pool.post([] { std::this_thread::sleep_for(20ms); });  // as if it asked somebody else
  }
  pool.wait_idle();
  const muster::PoolSnapshot busy = pool.snapshot();
  std::cout << "done, with " << busy.scaling.current << " workers\n";
  while (pool.worker_count() > 1) (void)notices.next(1s);  // somebody has left, for example
  const muster::PoolSnapshot idle = pool.snapshot();
  std::cout << "added " << idle.scaling.ups << " times, removed " << idle.scaling.downs << '\n';
  return idle.scaling.ups > 0 && idle.scaling.downs > 0 ? 0 : 1;
}
