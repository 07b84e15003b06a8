// progress_board.hpp: how far jobs are that are run by other processes.
//
// A file in memory with a place for each instance. Who runs a job writes there, whoever asks for
// the status reads. Both go by the kernel, so nobody waits; a reader that meets a writer in the
// middle of it sees that by the record's hash, and says nothing this time. Nothing is left when the
// process that has the board is killed.
//
// Thread safety: any member from any thread; a place is written by one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <muster/base/clock.hpp>
#include <muster/jobs/job.hpp>

namespace muster {

// Which run of a job it is about: what an earlier one has left is not meant.
struct ProgressPlace {
  std::uint32_t number = 0;
  WallTime started_at{};
};

class ProgressBoard {
 public:
  // Throws SystemFailure.
  ProgressBoard();
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  // By which other processes of this user find it, as long as this one lives.
  [[nodiscard]] std::string path() const;

  // Nothing: it has not said anything yet.
  [[nodiscard]] std::optional<JobProgress> read(const ProgressPlace& place) const;

 private:
  const int file_;
};

class ProgressPen {
 public:
  // If there is no such board, nothing is written: nobody could read it.
  explicit ProgressPen(const std::string& path);
  ~ProgressPen();
  ProgressPen(const ProgressPen&) = delete;
  ProgressPen& operator=(const ProgressPen&) = delete;

  // The first 200 bytes of the text.
  void write(const ProgressPlace& place, const JobProgress& progress) const;

 private:
  const int file_;
};

}  // namespace muster
