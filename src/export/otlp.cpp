// otlp.cpp: the thread that sends, and what is handed to it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/random.hpp>
#include <muster/export/otlp.hpp>
#include <muster/queues/bounded_queue.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/futex.hpp>
#include <muster/sync/mutex.hpp>

#include "export/endpoint.hpp"
#include "export/families.hpp"
#include "export/http_sender.hpp"
#include "export/otlp_json.hpp"
#include "export/retry.hpp"

namespace muster {
namespace {

// Before any pool, whose counts begin at 0: a rate is not too high if this is early.
const WallTime kLoaded = std::chrono::system_clock::now();

OtlpOptions checked(OtlpOptions options) {
  std::vector<BadField> bad = validate(options);
  if (!bad.empty()) throw InvalidArgument(std::move(bad));
  return options;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  const TraceContext random = start_trace();
  std::memcpy(&seed, random.span_id.data(), sizeof(seed));
  return seed;
}

// By the last seven bytes of the trace's id, as everybody does who takes part in it.
bool is_chosen(const TraceContext& context, double share) {
  std::uint64_t number = 0;
  for (std::size_t i = 9; i < context.trace_id.size(); ++i) {
    number = number << 8U | context.trace_id[i];
  }
  return static_cast<double>(number) < std::ldexp(share, 56);
}

}  // namespace

class OtlpExporter::Sender {
 public:
  explicit Sender(OtlpOptions options)
      : options_(checked(std::move(options))),
        // checked() has seen to it that there is one.
        http_(parse_endpoint(options_.endpoint).value_or(Endpoint()), options_.headers),
        random_(random_seed()),
        queue_(options_.max_queued) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      throw SystemFailure("start a thread that sends to " + options_.endpoint, error.code().value(),
                          "");
    }
    pthread_setname_np(thread_.native_handle(), "muster-otlp");
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() { stop(options_.stop_timeout); }

  [[nodiscard]] const OtlpOptions& options() const noexcept { return options_; }

  void record(TaskTrace&& trace) noexcept {
    if (!trace.context.sampled) return;
    // relaxed: what slips in behind it is counted by stats().
    if (is_closed_.load(relaxed) || !queue_.try_push(std::move(trace))) {
      dropped_.fetch_add(1, relaxed);  // relaxed: a count
      return;
    }
    // relaxed: while true, the thread has yet to look at the queue, or is about to be woken to.
    if (!queue_.holds_approx(options_.max_batch) || is_asked_.load(relaxed)) return;
    if (!is_asked_.exchange(true, relaxed)) signal();  // relaxed: as above
  }

  OtlpStats stats() const MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    OtlpStats stats = stats_;
    stats.tasks_dropped = dropped_.load(relaxed);  // relaxed: a count
    if (has_ended_) stats.tasks_dropped += queue_.size_approx();
    return stats;
  }

  bool stop(Duration timeout) MUSTER_EXCLUDES(mutex_, join_mutex_) {
    {
      const MutexLock lock(mutex_);
      if (!stop_deadline_) lost_before_stop_ = lost();
      const Time now = Time::clock::now();
      const Time deadline = timeout < Time::max() - now ? now + timeout : Time::max();
      stop_deadline_ = std::min(stop_deadline_.value_or(Time::max()), deadline);
    }
    is_closed_.store(true, relaxed);  // relaxed: as in record()
    signal();
    http_.interrupt();
    {
      const MutexLock lock(join_mutex_);
      if (thread_.joinable()) thread_.join();
    }
    const MutexLock lock(mutex_);
    has_ended_ = true;
    return lost() == lost_before_stop_;
  }

 private:
  void signal() noexcept {
    signal_.fetch_add(1, release);  // sync(otlp-signal): pairs with the load in run()
    futex_wake_one(signal_);
  }

  std::optional<Time> stop_deadline() const MUSTER_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return stop_deadline_;
  }
  [[nodiscard]] std::uint64_t lost() const MUSTER_REQUIRES(mutex_) {
    return stats_.tasks_lost + stats_.metrics_lost;
  }

  void run() {
    Time next_metrics = after(options_.metrics_interval);
    Time next_batch = after(options_.batch_interval);
    for (;;) {
      // sync(otlp-signal): sees what was pushed, or the deadline that was set, before the signal.
      const std::uint32_t seen = signal_.load(acquire);
      is_asked_.store(false, relaxed);  // relaxed: whoever sets it again changes the signal too
      const bool is_last = stop_deadline().has_value();
      const Time now = Time::clock::now();
      if (is_last || now >= next_batch || queue_.holds_approx(options_.max_batch)) {
        send_batch();
        next_batch = after(options_.batch_interval);
      }
      if (is_last || now >= next_metrics) {
        send_metrics();
        next_metrics = after(options_.metrics_interval);
      }
      if (is_last) break;
      if (queue_.holds_approx(options_.max_batch)) continue;
      futex_wait(signal_, seen, std::min(next_batch, next_metrics));
    }
    while (send_batch()) {
    }
  }

  static Time after(Duration duration) { return Time::clock::now() + duration; }

  // False: there was nothing.
  bool send_batch() {
    std::vector<TaskTrace> batch;
    while (batch.size() < options_.max_batch) {
      std::optional<TaskTrace> trace = queue_.try_pop();
      if (!trace) break;
      batch.push_back(std::move(*trace));
    }
    if (batch.empty()) return false;
    const Clock& clock = real_clock();
    const Duration wall_offset = std::chrono::duration_cast<Duration>(
        clock.wall_now().time_since_epoch() - clock.now().time_since_epoch());
    const PartialSuccess result =
        deliver("/v1/traces", [&] { return traces_json(batch, options_, wall_offset); });
    // Two spans make a task; if one of them is missing, the task is.
    const std::uint64_t lost =
        std::min<std::uint64_t>(batch.size(), result.rejected / 2 + result.rejected % 2);
    const MutexLock lock(mutex_);
    stats_.tasks_lost += lost;
    stats_.tasks_sent += batch.size() - lost;
    return true;
  }

  void send_metrics() {
    if (options_.pools.empty()) return;
    const PartialSuccess result = deliver("/v1/metrics", [&] {
      return metrics_json(snapshots_of(options_.pools), options_,
                          {.start = kLoaded, .now = real_clock().wall_now()});
    });
    const MutexLock lock(mutex_);
    ++(result.rejected == 0 ? stats_.metrics_sent : stats_.metrics_lost);
  }

  // `make` gives what to send, and may throw what a source throws.
  template <class Make>
  PartialSuccess deliver(const std::string& path, const Make& make) {
    PartialSuccess result;
    try {
      result = deliver_body(path, make());
    } catch (const std::exception& error) {
      result = {.rejected = kAll, .error = error.what()};
    }
    if (!result.error.empty()) {
      MUSTER_LOG(LogLevel::warning, options_.endpoint << path << ": " << result.error);
      const MutexLock lock(mutex_);
      if (result.rejected > 0) stats_.last_error = result.error;
    }
    return result;
  }

  PartialSuccess deliver_body(const std::string& path, const std::string& body) {
    for (unsigned attempt = 1;; ++attempt) {
      const Time timeout = after(options_.request_timeout);
      const HttpAnswer answer = http_.post(
          path, body, [&] { return std::min(timeout, stop_deadline().value_or(timeout)); });
      if (answer.status >= 200 && answer.status < 300) return parse_answer(answer.body);
      const std::optional<Duration> pause =
          pause_before_retry(answer, options_, attempt, random_.real(), real_clock().wall_now());
      if (!pause || !wait_for(*pause)) {
        return {.rejected = kAll,
                .error = answer.error.empty() ? "answered " + std::to_string(answer.status)
                                              : answer.error};
      }
      const MutexLock lock(mutex_);
      ++stats_.retries;
    }
  }

  // False, at once, if a stop does not leave time for it.
  bool wait_for(Duration pause) {
    const Time until = after(pause);
    for (;;) {
      const std::uint32_t seen = signal_.load(acquire);  // sync(otlp-signal): sees the deadline
      if (stop_deadline().value_or(Time::max()) <= until) return false;
      if (Time::clock::now() >= until) return true;
      futex_wait(signal_, seen, until);
    }
  }

  static constexpr std::uint64_t kAll = UINT64_MAX;

  // Fixed at construction.
  const OtlpOptions options_;

  // The thread only, but for interrupt().
  HttpSender http_;
  Random random_;

  // Any thread.
  BoundedQueue<TaskTrace> queue_;
  Atomic<std::uint64_t> dropped_ = 0;
  Atomic<std::uint32_t> signal_ = 0;  // grows when there is reason to look
  Atomic<bool> is_asked_ = false;     // since the thread last looked
  Atomic<bool> is_closed_ = false;

  // Guarded by mutex_.
  mutable Mutex mutex_;
  OtlpStats stats_ MUSTER_GUARDED_BY(mutex_);
  std::optional<Time> stop_deadline_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t lost_before_stop_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool has_ended_ MUSTER_GUARDED_BY(mutex_) = false;

  // Guarded by join_mutex_.
  Mutex join_mutex_;
  std::thread thread_;
};

OtlpExporter::OtlpExporter(OtlpOptions options)
    : sender_(std::make_unique<Sender>(std::move(options))) {}

OtlpExporter::~OtlpExporter() = default;

TraceContext OtlpExporter::begin(const TraceContext& parent) {
  TraceContext context = child_of(parent);
  if (!parent.is_valid()) context.sampled = is_chosen(context, sender_->options().trace_share);
  return context;
}

void OtlpExporter::record(TaskTrace&& trace) noexcept {
  sender_->record(std::move(trace));
}

OtlpStats OtlpExporter::stats() const {
  return sender_->stats();
}

bool OtlpExporter::stop(Duration timeout) {
  return sender_->stop(timeout);
}

}  // namespace muster
