// isolation.hpp: a job's handler in another process, and what goes there and back.
//
// Thread safety: IsolatedHandlers by any thread.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/jobs/enqueue_options.hpp>
#include <muster/process_pool.hpp>

#include "jobs/progress_board.hpp"
#include "jobs/transition.hpp"

namespace muster {

// What a handler is told.
struct JobOrder {
  std::string pool = {};
  std::string id = {};
  std::string event = {};
  std::optional<std::string> key = {};
  unsigned attempt = 1;
  WallTime enqueued_at{};
  WallTime started_at{};
  std::uint32_t instance = 0;
  std::uint64_t processed = 0;
  std::uint64_t pending = 0;
  std::string board = {};   // where it says how far it is
  std::uint32_t place = 0;  // and at which place of it
};

// What it has done.
struct JobReport {
  AttemptOutcome outcome = {};
  std::optional<std::string> result = {};
  std::string log = {};
  std::vector<std::pair<std::string, EncodedJob>> enqueued = {};  // by pool
};

[[nodiscard]] std::string encode_job_order(const JobOrder& order);
[[nodiscard]] JobOrder decode_job_order(std::string_view text);
[[nodiscard]] std::string encode_job_report(const JobReport& report);
[[nodiscard]] JobReport decode_job_report(std::string_view text);

inline constexpr const char* kJobTask = "muster job";

class IsolatedHandlers {
 public:
  // So many may run at a time. Throws SystemFailure if no worker becomes ready.
  explicit IsolatedHandlers(unsigned workers);

  // How far the job is that has this place of the board, and was started then.
  [[nodiscard]] JobProgress progress(std::uint32_t place, WallTime started_at) const {
    return board_.read({place, started_at}).value_or(JobProgress{});
  }
  [[nodiscard]] std::string board() const { return board_.path(); }

  struct Limits {
    std::stop_token stop = {};  // is passed on
    std::stop_token kill = {};  // behind that
    std::optional<Duration> timeout = {};
  };

  // Waits for its end. After its timeout it is killed, too.
  [[nodiscard]] JobReport run(const JobOrder& order, const Limits& limits);

 private:
  const ProgressBoard board_;
  ProcessPool workers_;
};

}  // namespace muster
