// worker_process.cpp: the loop of a worker.
#include "processes/worker_process.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>

#include <muster/base/quick_clock.hpp>
#include <muster/processes/process_figures.hpp>
#include <muster/sync/backoff.hpp>
#include <muster/sync/cache_line.hpp>

#include "processes/hello.hpp"
#include "processes/idle_time.hpp"
#include "processes/stack_trace.hpp"

namespace muster {
namespace {

constexpr unsigned kLooksPerClock = 16;  // for a task, while spinning

constexpr int kControl = 3;
constexpr int kSegment = 4;
constexpr int kBell = 5;

constexpr std::size_t kFetchedBytes = 1024;

// The sender's CPU has its lines. All are asked for at once, before the task asks one by one.
void fetch(std::span<const std::byte> payload) {
  const std::size_t bytes = std::min(payload.size(), kFetchedBytes);
  for (std::size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(payload.data() + at);
}

// What a task gives that is its own payload, or some of it, need not go back: who sent it has it.
std::optional<PayloadPart> part_of(std::span<const std::byte> payload, const Bytes& value) {
  if (value.size() <= kInlineResult) [[likely]]
    return std::nullopt;
  const std::less<const std::byte*> before;
  const std::byte* const first = value.span().data();
  const bool is_inside = !before(first, payload.data()) &&
                         !before(payload.data() + payload.size(), first + value.size());
  if (!is_inside) return std::nullopt;
  return PayloadPart{.offset = static_cast<std::uint32_t>(first - payload.data()),
                     .bytes = static_cast<std::uint32_t>(value.size())};
}

}  // namespace

std::vector<int> descriptors_for(const WorkerDescriptors& given) {
  return {given.control, given.segment, given.bell};
}

// What a task sees of us.
class WorkerProcess::Context final : public TaskContext {
 public:
  Context(const TaskFacts& facts, const WorkerProcess& process, const Claim& claim) noexcept
      : TaskContext(facts), process_(process), claim_(claim) {}

 private:
  void report_progress(double fraction) noexcept override {
    // relaxed: a figure.
    process_.segment_.board().progress.store(static_cast<float>(fraction), relaxed);
  }
  [[nodiscard]] bool is_cancelled() const noexcept override {
    return process_.worker_.cancelled(claim_);
  }

  const WorkerProcess& process_;
  const Claim& claim_;
};

WorkerProcess::WorkerProcess(const Registry& registry)
    : registry_(registry),
      control_(kControl),
      segment_(WorkerSegment::attach(FileDescriptor(kSegment))),
      bell_(Bell::attach(FileDescriptor(kBell))),
      worker_(segment_.ring(), kWorkerIndex) {
  tell_counter_speed(segment_.board().counter_speed);
}

WorkerProcess::~WorkerProcess() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
  }
  stopping_.notify_all();
  if (heart_.joinable()) heart_.join();
}

int WorkerProcess::run() {
  if (!get_ready()) return EXIT_FAILURE;
  idle_since_ = quick_now();
  for (;;) {
    const Claim claim = await_claim();
    if (worker_.contents(claim).method == kStopOrder) return EXIT_SUCCESS;
    serve(claim);
  }
}

bool WorkerProcess::get_ready() {
  if (!segment_.ring().occupy(kWorkerIndex, static_cast<std::uint64_t>(getpid()))) {
    say_failure(control_.get(), "another process has its place");
    return false;
  }
  try {
    registry_.run_start_hooks();
  } catch (const std::exception& error) {
    say_failure(control_.get(), error.what());
    return false;
  } catch (...) {
    say_failure(control_.get(), "a hook threw something that is no std::exception");
    return false;
  }
  trace_on_request();
  beat();
  heart_ = std::thread([this] { beat_for_ever(); });
  const bool is_heard = say_hello(control_.get(), registry_);
  control_.reset();
  return is_heard;
}

// Who finds one at once goes on without a look at the clock.
Claim WorkerProcess::await_claim() {
  began_ = idle_since_;
  Claim claim = worker_.claim();
  if (claim.outcome == TakeOutcome::taken) return claim;
  claim = await_another();
  began_ = quick_now();
  return claim;
}

Claim WorkerProcess::await_another() {
  const SharedSleepers sleepers = segment_.ring().sleepers(Awaited::work);
  const auto policy = static_cast<IdlePolicy>(segment_.board().idle_policy);
  const IdleTime patience = idle_time_of_worker(policy);
  // If one had to sleep for the last task, the next will not come soon, and whoever waits for the
  // result may need this CPU.
  if (slept_) std::this_thread::yield();
  IdleSpell spell(slept_ ? without_spinning(patience) : patience, quick_now());
  unsigned looks = slept_ ? 1 : kLooksPerClock;
  slept_ = false;
  for (;;) {
    Claim claim;
    for (unsigned look = 0; look < looks; ++look) {
      claim = worker_.claim();
      if (claim.outcome == TakeOutcome::taken) return claim;
      spin_pause();
    }
    const IdleSpell::Step step = spell.next(quick_now());
    if (step == IdleSpell::Step::yield) std::this_thread::yield();
    if (step != IdleSpell::Step::sleep) continue;
    const SharedSleepers::Ticket ticket = sleepers.announce(kWorkerIndex);
    claim = worker_.claim();
    if (claim.outcome != TakeOutcome::empty) {
      sleepers.withdraw(ticket);
      if (claim.outcome == TakeOutcome::taken) return claim;
      continue;  // contended: there is something
    }
    sleepers.park(ticket, kForever);
    slept_ = true;
    looks = kLooksPerClock;
    spell = IdleSpell(patience, quick_now());
  }
}

void WorkerProcess::serve(const Claim& claim) {
  const TaskContents contents = worker_.contents(claim);
  const std::optional<std::span<const std::byte>> payload = payload_of(claim);
  if (payload && contents.extent != 0) [[unlikely]]
    fetch(*payload);
  const std::vector<std::string>& names = registry_.names();
  const bool is_known = contents.method < names.size();
  Context context({.id = contents.id,
                   .name = is_known ? std::string_view(names[contents.method]) : "",
                   .attempt = contents.flags,
                   .worker = segment_.board().worker},
                  *this, claim);
  WorkerBoard& board = segment_.board();
  const Time began = began_;
  // relaxed: figures, each by itself.
  const auto tell = [](auto& figure, auto value) { figure.store(value, relaxed); };
  tell(board.progress, 0.0F);
  tell(board.started_ns, static_cast<std::uint64_t>(began.time_since_epoch().count()));
  tell(board.task, contents.id);
  TaskResult result = context.cancelled() ? result_of(ResultStatus::cancelled, {})
                                          : run_task(context, contents.method, payload);
  const Time ended = quick_now();
  result.run_ns =
      static_cast<std::uint32_t>(std::clamp<Duration::rep>((ended - began).count(), 0, kLongRun));
  if (board.beats_by_task != 0) [[unlikely]]
    beat();
  if (worker_.complete_quietly(claim, result) != HandOver::done) {
    throw std::runtime_error("the memory shared with the pool is damaged");
  }
  tell(board.task, std::uint64_t{0});
  worker_.record({.busy_ns = static_cast<std::uint64_t>((ended - began).count()),
                  .idle_ns = static_cast<std::uint64_t>((began - idle_since_).count())});
  idle_since_ = ended;
  bell_.ring();
  // Throwing ends the worker, but the task is done.
  if (registry_.run_after_task_hooks(context)) idle_since_ = quick_now();
}

TaskResult WorkerProcess::run_task(Context& context, std::uint32_t method,
                                   std::optional<std::span<const std::byte>> bytes) {
  try {
    if (!bytes) [[unlikely]]
      throw std::runtime_error("the memory shared with the pool is damaged");
    // Nothing is copied: what the task wants to keep it must copy itself.
    const Bytes payload = Bytes::view_of(*bytes, nullptr);
    const Bytes value = registry_.run(method, context, payload);
    if (const auto part = part_of(*bytes, value)) [[unlikely]]
      return part_result(*part);
    return result_of(ResultStatus::value, value);
  } catch (const std::exception& error) {
    return error_result(error.what());
  } catch (...) {
    return error_result("something that is no std::exception");
  }
}

std::optional<std::span<const std::byte>> WorkerProcess::payload_of(const Claim& claim) const {
  const TaskContents& contents = worker_.contents(claim);
  if (contents.extent == 0) [[likely]]
    return worker_.payload(claim);
  return segment_.blocks().read({.block = contents.extent - 1, .bytes = contents.payload_bytes});
}

TaskResult WorkerProcess::part_result(const PayloadPart& part) {
  TaskResult result;
  result.status = static_cast<std::uint32_t>(ResultStatus::part);
  result.payload_bytes = sizeof(part);
  std::memcpy(result.payload.data(), &part, sizeof(part));
  return result;
}

TaskResult WorkerProcess::error_result(std::string_view what) {
  const std::size_t most = segment_.blocks().bytes_each();
  return result_of(ResultStatus::error, Bytes::copy_of(what.substr(0, most)));
}

TaskResult WorkerProcess::result_of(ResultStatus status, const Bytes& value) {
  TaskResult result;
  result.status = static_cast<std::uint32_t>(status);
  result.payload_bytes = static_cast<std::uint32_t>(value.size());
  if (value.size() > kInlineResult) [[unlikely]]
    return result_in_block(result, value);
  std::memcpy(result.payload.data(), value.span().data(), value.size());
  return result;
}

TaskResult WorkerProcess::result_in_block(TaskResult result, const Bytes& value) {
  const SharedBlocks& blocks = segment_.blocks();
  if (value.size() > blocks.bytes_each()) {
    return error_result("its result of " + std::to_string(value.size()) +
                        " bytes is more than max_payload_bytes of the pool allows");
  }
  const SharedBlocks::Taken taken = await_block(value.size());
  if (taken.outcome == SharedBlocks::Outcome::no_memory) {
    return error_result("no memory for its result");
  }
  std::memcpy(blocks.own_memory(taken.block).data(), value.span().data(), value.size());
  result.extent = taken.block + 1;
  return result;
}

// The pool keeps half of them at most, and gives back what it has read.
SharedBlocks::Taken WorkerProcess::await_block(std::size_t bytes) const {
  using Outcome = SharedBlocks::Outcome;
  SharedBlocks& blocks = segment_.blocks();
  const SharedSleepers sleepers = segment_.ring().sleepers(Awaited::room);
  for (;;) {
    SharedBlocks::Taken taken = blocks.take(bytes);
    if (taken.outcome != Outcome::none_free) return taken;
    const SharedSleepers::Ticket ticket = sleepers.announce(kWorkerIndex);
    taken = blocks.take(bytes);
    if (taken.outcome != Outcome::none_free) {
      sleepers.withdraw(ticket);
      return taken;
    }
    sleepers.park(ticket, kForever);
  }
}

void WorkerProcess::beat_for_ever() {
  const Duration pause(segment_.board().heartbeat_ns);
  const MutexLock lock(mutex_);
  while (!stops_) {
    stopping_.wait_until(mutex_, Time::clock::now() + pause);
    beat();
  }
}

void WorkerProcess::beat() {
  WorkerBoard& board = segment_.board();
  try {
    if (const auto figures = read_process_figures(RealFiles(), getpid())) {
      const auto cpu_ns = static_cast<std::uint64_t>(figures->cpu_time.count());
      board.anonymous_bytes.store(figures->anonymous_bytes, relaxed);  // relaxed: a figure
      board.cpu_ns.store(cpu_ns, relaxed);                             // relaxed: a figure
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see below
    // The task at hand has all the memory there is. That is its own affair; the worker lives.
  }
  // relaxed: any change is a sign of life.
  segment_.ring().participant(kWorkerIndex).heartbeat.fetch_add(1, relaxed);
}

}  // namespace muster
