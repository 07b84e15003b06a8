// job_pool.cpp: from what users name to the node.
#include <utility>

#include <muster/job_pool.hpp>

#include "jobs/node.hpp"
#include "jobs/open_store.hpp"

namespace muster {
namespace {

Time deadline_in(Duration timeout) {
  const Time now = real_clock().now();
  return timeout > Time::max() - now ? Time::max() : now + timeout;
}

}  // namespace

std::vector<BadField> validate(const JobsOptions& options) {
  std::vector<BadField> bad;
  const auto check = [&bad](const char* field, Duration value) {
    if (value >= Duration::zero()) return;
    bad.push_back({field, std::to_string(value.count()) + " ns", "must not be negative"});
  };
  check("keep_completed", options.keep_completed);
  check("keep_ids", options.keep_ids);
  check("keep_dead", options.keep_dead.value_or(Duration::zero()));
  const bool is_sane = options.prune_every >= std::chrono::milliseconds(1) &&
                       options.prune_every <= std::chrono::hours(24);
  if (!is_sane) {
    bad.push_back({"prune_every", std::to_string(options.prune_every.count()) + " ns",
                   "must be from 1 ms to a day"});
  }
  return bad;
}

namespace detail {

EnqueueManyResult JobPoolHandle::enqueue(std::vector<EncodedJob> jobs,
                                         Durability durability) const {
  return node_->enqueue(*pool_, std::move(jobs), durability);
}

JobPoolStatus JobPoolHandle::status() const {
  return node_->status(*pool_);
}

InstanceStatus JobPoolHandle::instance_status(std::uint32_t index) const {
  return node_->instance_status(*pool_, index);
}

std::vector<WaitingJobStatus> JobPoolHandle::waiting(std::uint32_t index, std::size_t limit) const {
  return node_->waiting(*pool_, index, limit);
}

void JobPoolHandle::set_paused(std::optional<std::uint32_t> index, bool is_paused) const {
  node_->set_paused(*pool_, index, is_paused);
}

JobCancelOutcome JobPoolHandle::cancel(std::string_view id) const {
  return node_->cancel(*pool_, id);
}

DrainOutcome JobPoolHandle::drain(std::optional<std::uint32_t> index, Duration timeout) const {
  return node_->drain(*pool_, index, deadline_in(timeout));
}

std::vector<DeadLetter> JobPoolHandle::dead_letters(std::size_t limit) const {
  return node_->dead_letters(*pool_, limit);
}

bool JobPoolHandle::replay(std::string_view id) const {
  return node_->judge_dead(*pool_, id, JobState::available);
}

bool JobPoolHandle::discard(std::string_view id) const {
  return node_->judge_dead(*pool_, id, JobState::cancelled);
}

std::optional<std::string> JobPoolHandle::result(std::string_view id) const {
  return node_->result(*pool_, id);
}

}  // namespace detail

struct Jobs::State {
  JobNode node;
};

Jobs Jobs::open(const std::string& url, const JobsOptions& options) {
  if (std::vector<BadField> bad = validate(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
  const JobNode::Options node{.retention = {.completed = options.keep_completed,
                                            .ids = options.keep_ids,
                                            .dead = options.keep_dead.value_or(Duration::max())},
                              .prune_every = options.prune_every,
                              .clock = options.clock};
  return Jobs(std::unique_ptr<State>(new State{JobNode(open_store(url), node)}));
}

Jobs::Jobs(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Jobs::Jobs(Jobs&& other) noexcept = default;
Jobs& Jobs::operator=(Jobs&& other) noexcept = default;
Jobs::~Jobs() = default;

detail::JobPoolHandle Jobs::define_pool(std::string_view name, JobPoolSetup setup) {
  JobNode::Pool& pool = state_->node.define(name, std::move(setup));
  return {state_->node, pool};
}

detail::JobPoolHandle Jobs::handle_of(std::string_view name) const {
  return {state_->node, state_->node.pool(name)};
}

void Jobs::start() {
  state_->node.start();
}

JobsStopReport Jobs::stop(const JobsStopOptions& options) {
  return {.unfinished = state_->node.stop(deadline_in(options.timeout))};
}

}  // namespace muster
