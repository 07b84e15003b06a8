// strand.cpp: a list of tasks, and one turn in the pool's queues as long as it is not empty.
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>

#include <muster/strand.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {
namespace {

// Tasks in a row, until other tasks of the pool get their turn.
constexpr unsigned kTasksInARow = 16;

}  // namespace

class Strand::State {
 public:
  explicit State(ThreadPool& pool) : pool_(pool) {}

  ThreadPool& pool() const noexcept { return pool_; }

  // True: the strand was at rest, and the caller must see to its next turn.
  [[nodiscard]] bool add(Closure&& task) MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(task));
    return !std::exchange(active_, true);
  }

  // Nothing: the strand is at rest now.
  std::optional<Closure> take_next() MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) {
      active_ = false;
      return std::nullopt;
    }
    std::optional<Closure> task(std::move(waiting_.front()));
    waiting_.pop_front();
    return task;
  }

  // No turn will come any more.
  void drop_all() noexcept MUSTER_EXCLUDES(mutex_) {
    std::deque<Closure> dropped;
    const MutexLock lock(mutex_);
    dropped.swap(waiting_);
    active_ = false;
  }

 private:
  ThreadPool& pool_;

  // Guarded by mutex_.
  Mutex mutex_;
  std::deque<Closure> waiting_ MUSTER_GUARDED_BY(mutex_);
  bool active_ MUSTER_GUARDED_BY(mutex_) = false;  // a turn is queued or under way
};

namespace {

// The strand whose task runs on this thread.
constinit thread_local const void* current_strand = nullptr;

struct Inside {
  explicit Inside(const void* strand) noexcept : outer(std::exchange(current_strand, strand)) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { current_strand = outer; }
  const void* const outer;
};

}  // namespace

// Stands in the pool's queues for a strand that is not at rest.
class Strand::Turn {
 public:
  static constexpr bool kMustRun = true;

  explicit Turn(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
  Turn(Turn&& other) noexcept = default;
  ~Turn() {
    if (state_ != nullptr) state_->drop_all();  // a stop has discarded it
  }

  void operator()() {
    const std::shared_ptr<State> state = std::move(state_);
    const Inside inside(state.get());
    // What a pool left over when it stopped runs on whoever posted it. No further turn can be had
    // then, so all is run in this one.
    const bool may_have_another = state->pool().is_inside();
    std::exception_ptr error;
    for (unsigned i = 0; !may_have_another || (i < kTasksInARow && error == nullptr); ++i) {
      std::optional<Closure> task = state->take_next();
      if (!task) return rethrow(error);
      try {
        std::move (*task)();
      } catch (...) {
        error = std::current_exception();
      }
    }
    state->pool().post_stand_in(Closure(Turn(state)));
    rethrow(error);
  }

 private:
  // To the worker, which reports it.
  static void rethrow(const std::exception_ptr& error) {
    if (error != nullptr) std::rethrow_exception(error);
  }

  std::shared_ptr<State> state_;
};

Strand::Strand(ThreadPool& pool) : state_(std::make_shared<State>(pool)) {}

Strand::~Strand() = default;

void Strand::post_closure(Closure&& task) {
  state_->pool().trace(task);
  if (state_->add(std::move(task))) state_->pool().post_stand_in(Closure(Turn(state_)));
}

bool Strand::is_inside() const noexcept {
  return current_strand == state_.get();
}

}  // namespace muster
