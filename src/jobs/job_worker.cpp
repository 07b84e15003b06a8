// job_worker.cpp: the side of a worker process.
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include <muster/job_pool.hpp>
#include <muster/jobs/job_worker.hpp>
#include <muster/worker_main.hpp>

#include "jobs/isolation.hpp"
#include "jobs/node.hpp"
#include "jobs/progress_board.hpp"
#include "jobs/thrown.hpp"

namespace muster {
namespace {

// How often it is looked whether the job is to stop.
constexpr std::chrono::milliseconds kLookEvery{10};

// What a handler sees. What it says is kept for the report.
class RemoteContext final : public JobContext {
 public:
  RemoteContext(const JobNode& node, const JobOrder& order, TaskContext& task)
      : node_(node),
        order_(order),
        task_(task),
        pen_(order.board),
        watcher_([this](const std::stop_token& over) { watch(over); }) {}
  ~RemoteContext() override = default;
  RemoteContext(const RemoteContext&) = delete;
  RemoteContext& operator=(const RemoteContext&) = delete;

  const std::string& job_id() const noexcept override { return order_.id; }
  unsigned attempt() const noexcept override { return order_.attempt; }
  WallTime enqueued_at() const noexcept override { return order_.enqueued_at; }
  WallTime processing_started_at() const noexcept override { return order_.started_at; }
  std::uint32_t instance_index() const noexcept override { return order_.instance; }
  std::uint64_t processed_count() const override { return order_.processed; }
  std::uint64_t pending_count() const override { return order_.pending; }
  std::stop_token stop_token() const noexcept override { return stopping_.get_token(); }
  const std::optional<std::string>& partition_key() const noexcept override { return order_.key; }
  void progress(double fraction, std::string_view text) override {
    task_.progress(fraction);  // it is alive
    pen_.write({order_.place, order_.started_at},
               {.fraction = fraction, .text = std::string(text)});
  }
  void log(std::string_view line) override {
    if (report.log.size() + line.size() < JobNode::kMostLog) report.log.append(line).append("\n");
  }

  JobReport report;

 private:
  void keep_result(std::string json) override { report.result = std::move(json); }
  void enqueue_encoded(std::string_view pool, EncodedJob job) override {
    JobNode::check(node_.pool(pool), job);
    report.enqueued.emplace_back(pool, std::move(job));
  }

  void watch(const std::stop_token& over) {
    while (!over.stop_requested()) {
      if (task_.cancelled()) stopping_.request_stop();
      std::this_thread::sleep_for(kLookEvery);
    }
  }

  const JobNode& node_;
  const JobOrder& order_;
  TaskContext& task_;
  const ProgressPen pen_;
  std::stop_source stopping_;
  std::jthread watcher_;  // goes first
};

std::string run_job(const JobNode& node, TaskContext& task, const std::string& text) {
  const JobOrder order = decode_job_order(text);
  RemoteContext context(node, order, task);
  AttemptOutcome& outcome = context.report.outcome;
  try {
    node.setup_of(order.pool).execute(context, order.event);
  } catch (const UnreadableEvent& error) {
    outcome = {
        .failure = FailureKind::error, .what = storable(error.what()), .is_retryable = false};
  } catch (...) {
    outcome = {.failure = FailureKind::error, .what = thrown_words()};
  }
  context.report.log = storable(context.report.log);  // JSON has to be UTF-8
  if (outcome.failure) context.report.enqueued.clear();
  return encode_job_report(context.report);
}

}  // namespace

// The pools are defined when a worker is to run its first job, since most processes are none.
void job_worker_main(int argc, char** argv, const std::function<void(Jobs&)>& define) {
  std::unique_ptr<Jobs> jobs;
  Registry registry;
  registry.add(kJobTask, [&](TaskContext& task, const Bytes& payload) {
    if (jobs == nullptr) {
      jobs = std::make_unique<Jobs>(Jobs::open("memory:"));
      define(*jobs);
    }
    return Bytes(run_job(jobs->node(), task, payload.to_string()));
  });
  worker_main(argc, argv, registry);
}

}  // namespace muster
