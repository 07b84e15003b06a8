// seq_runs.cpp: to text and back.
#include "jobs/stores/sqlite/seq_runs.hpp"

#include <algorithm>
#include <charconv>

#include <muster/jobs/job_error.hpp>

namespace muster {
namespace {

void append(JobSeq seq, std::string& text) {
  constexpr std::size_t kMostDigits = 20;
  const std::size_t size = text.size();
  text.resize(size + kMostDigits);
  const auto written = std::to_chars(text.data() + size, text.data() + text.size(), seq);
  text.resize(static_cast<std::size_t>(written.ptr - text.data()));
}

// Takes a number off the front. 0: there is none.
JobSeq take_number(std::string_view& text) {
  JobSeq seq = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seq);
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return read.ec == std::errc() ? seq : 0;
}

bool take(char expected, std::string_view& text) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

[[noreturn]] void refuse(std::string_view text) {
  constexpr std::size_t kShown = 40;
  throw StoreFailure(
      {.attempt = "read job store",
       .reason = "it is corrupt: \"" + std::string(text.substr(0, kShown)) + "\" are no jobs",
       .advice = "restore it from a backup, or try sqlite3's .recover"});
}

}  // namespace

std::vector<SeqRun> runs_of(std::vector<JobSeq> seqs) {
  std::ranges::sort(seqs);
  std::vector<SeqRun> runs;
  for (const JobSeq seq : seqs) {
    if (!runs.empty() && runs.back().last + 1 == seq) {
      runs.back().last = seq;
    } else {
      runs.push_back({seq, seq});
    }
  }
  return runs;
}

std::string to_text(const std::vector<SeqRun>& runs) {
  std::string text;
  for (const SeqRun& run : runs) {
    if (!text.empty()) text += ' ';
    append(run.first, text);
    if (run.last == run.first) continue;
    text += '-';
    append(run.last, text);
  }
  return text;
}

std::vector<SeqRun> runs_in(std::string_view text) {
  const std::string_view all = text;
  std::vector<SeqRun> runs;
  bool is_good = true;
  do {
    SeqRun run{.first = take_number(text)};
    run.last = take('-', text) ? take_number(text) : run.first;
    is_good = is_good && run.first > (runs.empty() ? 0 : runs.back().last) && run.last >= run.first;
    runs.push_back(run);
  } while (take(' ', text));
  if (!is_good || !text.empty()) refuse(all);
  return runs;
}

}  // namespace muster
