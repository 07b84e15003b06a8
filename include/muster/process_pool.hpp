// process_pool.hpp: tasks that may crash, on worker processes.
//
//     muster::ProcessPool pool({.workers = 4});                    // see worker_main.hpp
//     muster::Future<muster::Bytes> f = pool.exec("resize", bytes, {.timeout = 5s});
//     Thumb thumb = pool.call<Thumb>("resize", image).get();
//
// A worker that segfaults, runs out of memory, hangs or is killed costs the pool the task it had at
// hand, which is tried again elsewhere, and nothing else. What fails for good is kept as a *dead
// letter*. No worker outlives the pool's process, however that ends.
//
// Results of tasks may come on any thread: the one that waits for one collects meanwhile those of
// all others. What follows a future by then() runs there, too, and holds up the others' results,
// unless another pool is named: `future.then(thread_pool, f)`.
//
// Thread safety: any member from any thread, but the destructor.
// Lifetime: futures may outlive the pool, and so may results, which pin the memory they are in.
// Design note: docs/design/process_pool.md
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/bytes.hpp>
#include <muster/future.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/payload.hpp>
#include <muster/process_error.hpp>
#include <muster/process_pool_options.hpp>

namespace muster {

class Supervisor;

class MUSTER_API ProcessPool {
 public:
  // Starts the workers, and returns when the first of them is ready. Throws InvalidArgument, naming
  // every problem, if the options are not valid; SystemFailure if no worker becomes ready. Nothing
  // is left running then.
  explicit ProcessPool(ProcessPoolOptions options = {});

  // stop(), with all the time it takes.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  // Has a worker run the task of this name. Throws InvalidArgument if the workers have none, the
  // payload is too large or cannot be written for command workers, or an option is wrong; all else
  // is told by the future. If as many tasks wait as may, it does what the options' `admission`
  // says: it waits for room, unless told.
  [[nodiscard]] Future<Bytes> exec(std::string_view name, Bytes payload = {},
                                   ExecOptions options = {});

  // The same if there is room for it now; none: there is not. Never waits.
  [[nodiscard]] std::optional<Future<Bytes>> try_exec(std::string_view name, Bytes payload = {},
                                                      ExecOptions options = {});

  // The same for several payloads, in order. Nothing is begun if one of them is wrong.
  [[nodiscard]] std::vector<Future<Bytes>> exec_many(std::string_view name,
                                                     std::span<const Bytes> payloads,
                                                     const ExecOptions& options = {});

  // The same with values instead of bytes, see codec.hpp; cancel() of the future is the task's.
  template <class Result, class... Arguments>
  [[nodiscard]] Future<Result> call(std::string_view name, Arguments&&... arguments) {
    return call_with<Result>(ExecOptions{}, name, std::forward<Arguments>(arguments)...);
  }
  template <class Result, class... Arguments>
  [[nodiscard]] Future<Result> call_with(ExecOptions options, std::string_view name,
                                         Arguments&&... arguments) {
    Future<Bytes> task =
        exec(name, encode_arguments(std::forward<Arguments>(arguments)...), std::move(options));
    return detail::continue_with<detail::Cancels::both>(
        task.release_state(), ExecutorId{0},
        [](const Bytes& bytes) { return decode_result<Result>(bytes); });
  }

  // More or fewer workers. Those that go finish what they have. Fewer than one worker is refused
  // with InvalidArgument, and any change with Stopped once the pool is being stopped.
  void scale_up(unsigned count);
  void scale_down(unsigned count);

  // Takes no more tasks, and waits for those that were accepted, retries included; with
  // Stop::discard it drops what waits and kills what runs. Then the workers end. With a timeout it
  // may leave some unfinished; another stop() waits for them again, or discards them. Safe twice.
  // Throws WouldDeadlock if called by what follows a task of this pool.
  StopResult stop(const StopOptions& options = {.timeout = std::chrono::seconds(30)});

  // In a time that does not grow with workers or tasks.
  [[nodiscard]] ProcessPoolMetrics metrics() const;

  // With rates of the last second.
  [[nodiscard]] PoolSnapshot snapshot() const;

  // Tasks are placed by it from now on; those that workers have stay where they are. Throws
  // InvalidArgument as the constructor does, and WouldDeadlock from within a strategy.
  void set_strategy(const StrategyChoice& strategy);

  // The name of the one that is used.
  [[nodiscard]] std::string strategy() const;

  // Nothing if there never was such a worker.
  [[nodiscard]] std::optional<WorkerStatus> worker_status(unsigned id) const;

  // Tasks that have not ended: first those that workers have, then those that wait for one, in the
  // order in which they will get it, then those that wait for their time or their next attempt. The
  // pool waits meanwhile; a thousand take it less than a millisecond.
  [[nodiscard]] std::vector<TaskStatus> tasks(std::size_t limit = 100) const;

  // What has failed for good, oldest first; ProcessPoolOptions::max_dead_letters of them.
  [[nodiscard]] std::vector<DeadLetter> dead_letters() const;

  // Takes one out and runs it anew, or forgets it. Nothing, or false, if it is not there. It stays
  // if it cannot be run: the workers have no such task any more (InvalidArgument), or the pool was
  // stopped (as the future says).
  std::optional<Future<Bytes>> replay(std::uint64_t id);
  bool discard(std::uint64_t id);

  // What happens in the pool from now on.
  [[nodiscard]] NoticeStream subscribe(std::size_t capacity = 1024);

 private:
  const std::shared_ptr<Supervisor> supervisor_;
};

}  // namespace muster
