// worker_process.hpp: what runs in a worker process: takes tasks, runs them, hands results in.
//
// One thread runs tasks, one after the other. Another only gives signs of life, so that a long task
// is not taken for a dead worker.
//
// Thread safety: run() once.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include <muster/queues/ring_worker.hpp>
#include <muster/registry.hpp>
#include <muster/sync/mutex.hpp>

#include "processes/bell.hpp"
#include "processes/worker_segment.hpp"

namespace muster {

// Set for a process that is to be a worker, to its number.
inline constexpr const char* kWorkerVariable = "MUSTER_WORKER";

// What a worker finds as its descriptors 3, 4, 5.
struct WorkerDescriptors {
  int control;
  int segment;
  int bell;
};
[[nodiscard]] std::vector<int> descriptors_for(const WorkerDescriptors& given);

class WorkerProcess {
 public:
  // Takes over the descriptors above. Throws InvalidArgument if they are something else.
  explicit WorkerProcess(const Registry& registry);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Until the pool orders it to stop; the process's exit code.
  [[gnu::hot]] int run();

 private:
  class Context;

  bool get_ready();
  [[nodiscard]] Claim await_claim();
  [[nodiscard, gnu::hot]] Claim await_another();
  [[gnu::hot]] void serve(const Claim& claim);
  // Without bytes: where its payload should be nothing can be.
  [[nodiscard]] TaskResult run_task(Context& context, std::uint32_t method,
                                    std::optional<std::span<const std::byte>> bytes);
  [[nodiscard]] TaskResult result_of(ResultStatus status, const Bytes& value);
  [[nodiscard, gnu::noinline]] TaskResult result_in_block(TaskResult result, const Bytes& value);
  [[nodiscard]] std::optional<std::span<const std::byte>> payload_of(const Claim& claim) const;
  [[nodiscard, gnu::noinline]] static TaskResult part_result(const PayloadPart& part);
  [[nodiscard]] SharedBlocks::Taken await_block(std::size_t bytes) const;
  [[nodiscard, gnu::cold]] TaskResult error_result(std::string_view what);
  void beat_for_ever();
  void beat();

  // Fixed at construction.
  const Registry& registry_;
  FileDescriptor control_;
  const WorkerSegment segment_;
  const Bell bell_;
  const RingWorker worker_;

  // The thread that runs tasks.
  Time idle_since_{};   // when the last task had ended
  Time began_{};        // when the next one did begin
  bool slept_ = false;  // before that

  // Guarded by mutex_.
  Mutex mutex_;
  ConditionVariable stopping_;
  bool stops_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread heart_;
};

}  // namespace muster
