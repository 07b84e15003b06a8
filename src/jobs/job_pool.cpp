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
  const auto check_range = [&bad](const char* field, Duration value, Duration least, Duration most,
                                  const char* rule) {
    if (value >= least && value <= most) return;
    bad.push_back({field, std::to_string(value.count()) + " ns", rule});
  };
  using std::chrono::hours;
  using std::chrono::milliseconds;
  check_range("prune_every", options.prune_every, milliseconds(1), hours(24),
              "must be from 1 ms to a day");
  check_range("lease", options.lease, milliseconds(100), hours(1),
              "must be from 100 ms to an hour");
  check_range("store_timeout", options.store_timeout, milliseconds(10), hours(1),
              "must be from 10 ms to an hour");
  return bad;
}

namespace detail {

EnqueueManyResult JobPoolHandle::enqueue(std::vector<EncodedJob> jobs,
                                         Durability durability) const {
  return node_->enqueue(*pool_, std::move(jobs), durability);
}

EnqueueManyResult JobPoolHandle::enqueue_with(pg_conn* connection,
                                              std::vector<EncodedJob> jobs) const {
  return node_->enqueue_with(*pool_, connection, std::move(jobs));
}

JobPoolStatus JobPoolHandle::status() const {
  return node_->status(*pool_);
}

InstanceStatus JobPoolHandle::instance_status(std::uint32_t index) const {
  return node_->instance_status(*pool_, index);
}

PoolSnapshot JobPoolHandle::snapshot() const {
  return node_->snapshot(*pool_);
}

WaitingJobs JobPoolHandle::waiting(std::uint32_t index, const WaitingPage& page) const {
  return node_->waiting(*pool_, index, page);
}

void JobPoolHandle::set_paused(std::optional<std::uint32_t> index, bool is_paused) const {
  node_->set_paused(*pool_, index, is_paused);
}

JobCancelOutcome JobPoolHandle::cancel(std::string_view id, const JobCancelOptions& options) const {
  return node_->cancel(*pool_, id, options);
}

DrainOutcome JobPoolHandle::drain(const DrainOptions& options) const {
  return node_->drain(*pool_, options, deadline_in(options.timeout));
}

JobDeadLetters JobPoolHandle::dead_letters(const DeadLetterPage& page) const {
  return node_->dead_letters(*pool_, page);
}

bool JobPoolHandle::replay(std::string_view id) const {
  return node_->judge_dead(*pool_, id, JobState::available);
}

bool JobPoolHandle::discard(std::string_view id) const {
  return node_->judge_dead(*pool_, id, JobState::cancelled);
}

std::optional<std::string> JobPoolHandle::result(std::string_view id) const {
  return node_->remains(*pool_, id).result;
}

std::optional<std::string> JobPoolHandle::log(std::string_view id) const {
  return node_->remains(*pool_, id).log;
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
                              .clock = options.clock,
                              .mode = options.mode};
  std::unique_ptr<Store> store = open_store(
      url, {.lease = options.lease, .timeout = options.store_timeout, .clock = options.clock});
  return Jobs(std::unique_ptr<State>(new State{JobNode(std::move(store), node)}));
}

const JobNode& Jobs::node() const noexcept {
  return state_->node;
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

std::size_t Jobs::run_due() {
  return state_->node.run_due();
}

void Jobs::add_schedule(std::string_view name, std::string_view pool, const CronSchedule& schedule,
                        MissedRuns missed_runs, EncodedJob job) {
  state_->node.add_schedule(name, state_->node.pool(pool), schedule, missed_runs, std::move(job));
}

NoticeStream Jobs::subscribe(std::size_t capacity) {
  return state_->node.notices().subscribe(capacity);
}

JobsStopReport Jobs::stop(const JobsStopOptions& options) {
  return {.unfinished = state_->node.stop(deadline_in(options.timeout))};
}

}  // namespace muster
