// seq_runs.hpp: numbers of jobs, as they are kept by the hundred: "1-600 605 607-609".
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <muster/jobs/job.hpp>

namespace muster {

// From first to last, both of them in it.
struct SeqRun {
  JobSeq first = 0;
  JobSeq last = 0;

  [[nodiscard]] JobSeq size() const noexcept { return last - first + 1; }
  bool operator==(const SeqRun&) const = default;
};

// As few as it takes, in ascending order. Requires: no number is there twice.
[[nodiscard]] std::vector<SeqRun> runs_of(std::vector<JobSeq> seqs);

[[nodiscard]] std::string to_text(const std::vector<SeqRun>& runs);

// Throws StoreFailure if it is no such text.
[[nodiscard]] std::vector<SeqRun> runs_in(std::string_view text);

}  // namespace muster
