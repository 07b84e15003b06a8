// node_context.hpp: what a handler sees of its node.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <muster/jobs/job_context.hpp>

#include "jobs/node.hpp"
#include "jobs/node_pool.hpp"

namespace muster {

class JobNode::Context final : public JobContext {
 public:
  Context(JobNode& node, Pool& pool, const Taken& taken) noexcept
      : node_(node), pool_(pool), taken_(taken) {}
  ~Context() override = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const std::string& job_id() const noexcept override { return taken_.body.id; }
  unsigned attempt() const noexcept override { return taken_.job.attempts + 1U; }
  WallTime enqueued_at() const noexcept override { return taken_.body.enqueued_at; }
  WallTime processing_started_at() const noexcept override { return taken_.started_at; }
  std::uint32_t instance_index() const noexcept override { return taken_.index; }
  std::stop_token stop_token() const noexcept override { return taken_.stop; }

  std::uint64_t processed_count() const override {
    const MutexLock lock(pool_.mutex);
    const Instance& instance = pool_.instances[taken_.index];
    return instance.processed + instance.unsettled;
  }
  std::uint64_t pending_count() const override {
    const MutexLock lock(pool_.mutex);
    return pool_.instances[taken_.index].lane.size();
  }

  const std::optional<std::string>& partition_key() const noexcept override {
    return taken_.body.key;
  }

  void log(std::string_view line) override {
    if (lines.size() + line.size() >= kMostLog) return;
    lines.append(line).push_back('\n');
  }

  void progress(double fraction, std::string_view text) override {
    const MutexLock lock(pool_.mutex);
    Instance& instance = pool_.instances[taken_.index];
    instance.progress = {.fraction = fraction, .text = std::string(text)};
  }

  // Taken over when the handler has returned.
  std::optional<std::string> result;
  std::vector<NewJob> enqueued;
  std::string lines;  // that it logged; also if it fails

 private:
  void keep_result(std::string json) override { result = std::move(json); }
  void enqueue_encoded(std::string_view pool, EncodedJob job) override {
    enqueued.push_back(node_.new_job(node_.pool(pool), std::move(job), node_.wall_now()));
  }

  JobNode& node_;
  Pool& pool_;
  const Taken& taken_;
};

}  // namespace muster
