// execution.cpp: one run of the program, decision by decision, and the way to the next run.
#include "support/explorer/execution.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include <boost/context/fixedsize_stack.hpp>

#include <muster/base/assert.hpp>

namespace muster::explore {
namespace {

namespace context = boost::context;

// In place of a state's key where that state was met before: on the way to where the last run
// branched off.
constexpr std::uint64_t kKnownGround = 1;

// Stacks are needed millions of times: keep them.
class KeptStacks {
 public:
  context::stack_context allocate() {
    if (free().empty()) return context::fixedsize_stack(64 * 1024).allocate();
    const context::stack_context stack = free().back();
    free().pop_back();
    return stack;
  }
  void deallocate(context::stack_context& stack) { free().push_back(stack); }

 private:
  static std::vector<context::stack_context>& free() {
    static std::vector<context::stack_context> stacks;
    return stacks;
  }
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = hash ^ (value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// What a failed run leaves half-way is kept for ever: unwinding it could fail again.
template <class T>
void abandon(T&& what) {
  new std::remove_reference_t<T>(std::move(what));  // NOLINT: leaked on purpose, see above
}

std::string_view base_name(const char* path) {
  const std::string_view view(path);
  return view.substr(view.rfind('/') + 1);
}

}  // namespace

Execution::Execution(const Limits& limits, const std::function<void(Program&)>& setup,
                     const Mutation& mutation)
    : limits_(limits), setup_(setup), mutation_(mutation) {}

Execution::~Execution() = default;

Report Execution::explore_all() {
  Report report;
  double leaf = 0;
  do {
    leaf = run_once();
    ++report.runs;
    if (!failure_.empty()) break;
    report.exhausted = !advance(leaf);
  } while (!report.exhausted && report.runs < limits_.runs);
  report.failure = failure_;
  if (!failure_.empty()) report.trail = trail();
  report.states = known_.size();
  report.schedules = off_path_schedules_;
  report.sites.assign(sites_.begin(), sites_.end());
  return report;
}

// Returns how many schedules end here.
double Execution::run_once() {
  memory_.clear();
  threads_.clear();
  steps_.clear();
  depth_ = 0;
  current_ = 0;
  preemptions_ = stale_reads_ = 0;
  writes_ = 0;
  on_path_ = true;
  given_up_ = false;
  off_path_schedules_ = 1;
  threads_.resize(1);
  Program program;
  setup_(program);
  start_threads(program);
  switch_to_chosen();
  if (!given_up_ && off_path_schedules_ > 0) {
    for (std::size_t i = 1; i < threads_.size(); ++i) memory_.join(0, i);
    current_ = 0;
    if (program.end_) program.end_();
  }
  if (given_up_) {
    for (Thread& thread : threads_) abandon(std::move(thread));
    abandon(std::move(program));
    threads_.clear();
  }
  return off_path_schedules_;
}

void Execution::start_threads(Program& program) {
  MUSTER_ASSERT(program.threads_.size() < kMaxThreads);
  threads_.resize(1 + program.threads_.size());
  for (std::size_t i = 1; i < threads_.size(); ++i) {
    memory_.start(0, i);
    threads_[i].status = Status::ready;
    threads_[i].fresh = true;
    threads_[i].fibre =
        context::fiber(std::allocator_arg, KeptStacks(),
                       [this, i, body = program.threads_[i - 1]](context::fiber&& caller) {
                         threads_[i].caller = std::move(caller);
                         body();
                         threads_[i].status = Status::done;
                         return std::move(threads_[i].caller);
                       });
  }
}

// Runs whoever was chosen until nobody can run.
void Execution::switch_to_chosen() {
  while (!given_up_ && decide()) {
    do {
      resume(chosen_);
    } while (!given_up_ && threads_[current_].status != Status::done);
  }
}

void Execution::resume(std::size_t thread) {
  current_ = thread;
  threads_[thread].fibre = std::move(threads_[thread].fibre).resume();
}

void Execution::suspend() {
  Thread& self = threads_[current_];
  self.caller = std::move(self.caller).resume();
}

// Part of what tells states apart.
void Execution::remember(std::uint64_t observed) {
  threads_[current_].history = mixed(threads_[current_].history, observed);
}

// Picks who goes on, into chosen_. False if nobody can.
bool Execution::decide() {
  options_.clear();
  const bool free_switch = current_ == 0 || threads_[current_].status != Status::ready;
  if (!free_switch) options_.push_back(current_);
  if (free_switch || limits_.preemptions == kUnbounded || preemptions_ < limits_.preemptions) {
    for (std::size_t i = 1; i < threads_.size(); ++i) {
      if ((free_switch || i != current_) && runnable(threads_[i])) options_.push_back(i);
    }
  }
  if (options_.empty()) {  // all that is left pauses, and nobody writes: let them look again
    for (std::size_t i = 1; i < threads_.size(); ++i) {
      const std::size_t next = (current_ + i - 1) % (threads_.size() - 1) + 1;  // in turn
      const Status status = threads_[next].status;
      // A run that is of no interest any more needs an end: there sleepers look again too.
      const bool gets_up = status == Status::asleep && !on_path_;
      if (status == Status::paused || gets_up) options_.push_back(next);
    }
  }
  if (options_.empty()) {
    note_deadlock();
    return false;
  }
  const bool new_ground = on_path_ && depth_ == path_.size();
  chosen_ = options_[choose(options_.size(), new_ground ? state_key() : kKnownGround)];
  if (!free_switch && chosen_ != current_) ++preemptions_;
  return true;
}

// Everything that the future depends on. What a thread has read, by place in the modification
// orders, determines all that it did; so the histories of all threads determine the memory.
std::uint64_t Execution::state_key() const {
  std::uint64_t key = mixed(1, static_cast<std::uint64_t>(stale_reads_));
  if (limits_.preemptions != kUnbounded) {
    key = mixed(key, static_cast<std::uint64_t>(preemptions_));
    key = mixed(key, current_);
  }
  for (const Thread& thread : threads_) {
    key = mixed(key, thread.history);
    key = mixed(key, static_cast<std::uint64_t>(thread.status) * 4 + (thread.woken ? 2U : 0U) +
                         (runnable(thread) ? 1U : 0U));
  }
  return key | 1;
}

// Every choice is 0 once the run has left the path; then it only runs to its end.
std::size_t Execution::choose(std::size_t count, std::uint64_t key) {
  const bool a_choice = key != 0 || count > 1;
  if (!on_path_ || !a_choice) return 0;
  if (depth_ < path_.size()) return path_[depth_++].chosen;
  if (key != 0) {
    const auto known = known_.find(key);
    if (known != known_.end()) {
      leave_path(known->second);
      return 0;
    }
  }
  path_.push_back({.chosen = 0, .count = count, .key = key});
  ++depth_;
  return 0;
}

void Execution::leave_path(double schedules) {
  on_path_ = false;
  off_path_schedules_ = schedules;
  memory_.stop_judging();
}

// Moves on to the next decision not yet taken. False if there is none.
bool Execution::advance(double leaf) {
  while (!path_.empty()) {
    Node& node = path_.back();
    node.schedules += leaf;
    if (++node.chosen < node.count) return true;
    leaf = node.schedules;
    if (node.key != 0) known_[node.key] = leaf;
    path_.pop_back();
  }
  off_path_schedules_ = leaf;
  return false;
}

void Execution::before_step() {
  if (steps_.size() > limits_.steps) {
    fail("loop without end");
    given_up_ = true;
  }
  const bool just_chosen = std::exchange(threads_[current_].fresh, false);
  if (!given_up_ && !just_chosen && decide() && chosen_ != current_) suspend();
  while (given_up_) suspend();
  Thread& self = threads_[current_];
  self.status = Status::ready;
  if (self.mark) {
    const std::function<std::uint64_t()> mark = std::move(self.mark);
    self.mark = nullptr;
    remember(mark());
  }
}

bool Execution::mutated(const SourceLocation& at) const {
  return mutation_.weakening != Weakening::none && current_ != 0 && mutation_.line == at.line() &&
         at.file_name() == mutation_.file;
}

void Execution::note_site(std::memory_order order, const char* what, const SourceLocation& at) {
  if (current_ == 0) return;
  const auto key = mixed(mixed(at.line(), to_bits(at.file_name())), to_bits(what));
  if (!noted_.insert(key).second) return;
  sites_.insert({.file = at.file_name(),
                 .line = at.line(),
                 .operation = what,
                 .order = static_cast<int>(order)});
}

std::memory_order Execution::weakened(std::memory_order order, const char* what,
                                      const SourceLocation& at) {
  if (mutation_.weakening == Weakening::none) {
    note_site(order, what, at);
    return order;
  }
  if (!mutated(at)) return order;
  if (std::string_view(what) == "failed") {
    const bool drop = mutation_.weakening == Weakening::drop_failure_acquire;
    return drop ? std::memory_order_relaxed : order;
  }
  const bool load = std::string_view(what) == "load";
  const bool store = std::string_view(what) == "store";
  switch (mutation_.weakening) {
    case Weakening::drop_acquire:
      if (order == std::memory_order_acquire) return std::memory_order_relaxed;
      return order == std::memory_order_acq_rel ? std::memory_order_release : order;
    case Weakening::drop_release:
      if (order == std::memory_order_release) return std::memory_order_relaxed;
      return order == std::memory_order_acq_rel ? std::memory_order_acquire : order;
    case Weakening::drop_seq_cst:
      if (order != std::memory_order_seq_cst) return order;
      if (load) return std::memory_order_acquire;
      return store ? std::memory_order_release : std::memory_order_acq_rel;
    case Weakening::to_relaxed:
      return std::memory_order_relaxed;
    case Weakening::drop_failure_acquire:
    case Weakening::drop_store:
    case Weakening::drop_wake:
    case Weakening::none:
      return order;
  }
  return order;
}

Access Execution::begin(std::size_t id, std::memory_order order, const char* what,
                        const SourceLocation& at) {
  if (current_ != 0) before_step();
  const Access access{.thread = current_, .location = id, .order = weakened(order, what, at)};
  if (!memory_.created_before(access)) fail("data race with the creation of an atomic");
  if (memory_.has_ended(id)) fail("access to an atomic whose life has ended");
  return access;
}

void Execution::finish(bool exists, const Step& step, std::uint64_t observed) {
  steps_.push_back(step);
  if (current_ == 0) return;
  remember(step.location);
  remember(observed);
  if (!exists && on_path_) leave_path(0);
}

// A read of the newest value, or, as long as the bound allows, of an older one. Returns how old.
std::size_t Execution::choose_read(std::size_t readable) {
  if (current_ == 0 || stale_reads_ >= limits_.stale_reads) return 0;
  const std::size_t behind = choose(readable);
  if (behind > 0) ++stale_reads_;
  return behind;
}

void Execution::end_life(std::size_t id) {
  if (!memory_.end_life(current_, id)) fail("data race with the end of an atomic's life");
}

std::uint64_t Execution::load(std::size_t id, std::memory_order order, const SourceLocation& at) {
  const Access access = begin(id, order, "load", at);
  const std::size_t newest = memory_.newest(id);
  const std::size_t behind = choose_read(newest - memory_.oldest_readable(access) + 1);
  const std::uint64_t value = memory_.value_at(id, newest - behind);
  const bool exists = memory_.read(access, newest - behind);
  finish(exists, {current_, "load", id, value, behind, at.file_name(), at.line()}, newest - behind);
  return value;
}

void Execution::store(std::size_t id, std::uint64_t value, std::memory_order order,
                      const SourceLocation& at) {
  const Access access = begin(id, order, "store", at);
  if (mutated(at) && mutation_.weakening == Weakening::drop_store) return;
  const bool exists = memory_.write(access, value);
  ++writes_;
  finish(exists, {current_, "store", id, value, 0, at.file_name(), at.line()}, memory_.newest(id));
}

std::uint64_t Execution::update(std::size_t id,
                                const std::function<std::uint64_t(std::uint64_t)>& change,
                                std::memory_order order, const SourceLocation& at) {
  const Access access = begin(id, order, "update", at);
  const std::uint64_t before = memory_.value_at(id, memory_.newest(id));
  const std::uint64_t after = change(before);
  const bool exists = memory_.update(access, after);
  ++writes_;
  finish(exists, {current_, "update", id, after, 0, at.file_name(), at.line()}, memory_.newest(id));
  return before;
}

bool Execution::compare_exchange(std::size_t id, Exchange& exchange, const SourceLocation& at) {
  const Access access = begin(id, exchange.success, "update", at);
  const std::size_t newest = memory_.newest(id);
  // The newest value, and older ones only if they make the exchange fail.
  std::vector<std::size_t> places{newest};
  for (std::size_t place = newest; place-- > memory_.oldest_readable(access);) {
    if (memory_.value_at(id, place) != exchange.expected) places.push_back(place);
  }
  const std::size_t place = places[choose_read(places.size())];
  const std::uint64_t value = memory_.value_at(id, place);
  if (value == exchange.expected) {
    const bool exists = memory_.update(access, exchange.desired);
    ++writes_;
    finish(exists, {current_, "exchanged", id, exchange.desired, 0, at.file_name(), at.line()},
           newest + 1);
    return true;
  }
  const std::memory_order failure = weakened(exchange.failure, "failed", at);
  const bool exists = memory_.read({access.thread, id, failure}, place);
  finish(exists, {current_, "not exchanged", id, value, newest - place, at.file_name(), at.line()},
         place);
  exchange.expected = value;
  return false;
}

void Execution::fence(const SourceLocation& at) {
  if (current_ == 0) return;
  before_step();
  const std::memory_order order = weakened(std::memory_order_seq_cst, "fence", at);
  if (order != std::memory_order_seq_cst) return;
  const bool exists = memory_.fence(current_, order);
  finish(exists, {current_, "fence", 0, 0, 0, at.file_name(), at.line()}, kMaxLocations);
}

void Execution::plain_write(const void* address) {
  if (!memory_.plain_write(current_, address)) fail("data race: write of plain memory");
}

void Execution::plain_read(const void* address, std::uint16_t moment) {
  if (!memory_.plain_read(current_, address, moment)) fail("data race: read of plain memory");
}

void Execution::require(bool holds, std::string_view what) {
  if (!holds) fail(std::string(what));
}

void Execution::fail(const std::string& what) {
  if (!on_path_) return;
  if (failure_.empty()) failure_ = what;
  given_up_ = true;
}

std::string Execution::trail() const {
  std::ostringstream out;
  for (const Step& step : steps_) {
    out << "  thread " << step.thread << ": " << step.what << " of #" << step.location << ": "
        << static_cast<std::int64_t>(step.value);
    if (step.behind > 0) out << " (" << step.behind << " behind)";
    out << "  at " << base_name(step.file) << ':' << step.line << '\n';
  }
  return out.str();
}

}  // namespace muster::explore
