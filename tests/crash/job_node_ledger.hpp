// job_node_ledger.hpp: what nodes were told and what they did, kept for longer than they live; and
// whether that is what was promised.
//
// The ledger is a file that is only appended to, a line for each event, each by one write: the
// kernel keeps it whole, in one order for all, and when the node is killed.
//
// Thread safety: notes from any thread and process; everything else is values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster::testing {

[[nodiscard]] std::int64_t wall_ns();

class Ledger {
 public:
  // `tag`: who writes.
  Ledger(const std::string& path, int tag);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Words: "asks" before an enqueue, "created", "known", "wrote" (not synced) or "threw" behind it,
  // "torn" if it was done in part; "begins" at the start of a handler, "ends" or "fails" at its
  // end.
  void note(const std::string& word, const std::string& id, std::int64_t taken_ns = 0) const;

 private:
  const int file_;
  const int tag_;
};

struct LedgerLine {
  std::string word;
  std::string id;
  int tag = 0;
  std::int64_t at_ns = 0;     // by the clock on the wall
  std::int64_t taken_ns = 0;  // of "begins": when the node decided that
};

[[nodiscard]] std::vector<LedgerLine> read_ledger(const std::string& path);

// What is known of a job.
struct JobStory {
  // The first of their kind in the ledger.
  std::optional<std::size_t> asked = {};
  std::optional<std::size_t> acknowledged = {};
  std::optional<std::size_t> began = {};
  std::optional<std::size_t> ended = {};

  std::vector<LedgerLine> begins = {};
  int created = 0;
  int unanswered = 0;
  bool is_written = false;  // and not synced

  // By the database.
  bool is_stored = false;
  bool is_completed = false;
  std::string key = {};
  std::int64_t settled_ns = INT64_MAX;
};
using JobStories = std::map<std::string, JobStory>;

[[nodiscard]] JobStories stories_of(const std::vector<LedgerLine>& ledger);

// The first few of many, as failures of the test: a defect shows itself a thousand times.
class Complaints {
 public:
  Complaints() = default;
  ~Complaints();
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  void add(const std::string& text);

 private:
  int count_ = 0;
};

// Whether what was acknowledged without a sync may be gone.
enum class Unsynced { is_kept, may_be_lost };

// What was acknowledged is there, was run, and was created by one enqueue.
void check_answers(const JobStories& stories, Unsynced unsynced);

// Whether a node may begin what it had decided on before it was stopped.
enum class Late { never, if_decided };

// If a job was acknowledged before another of its partition was asked for: the other one begins
// when it has ended, and it never begins when the other one, or itself, was settled.
void check_order(const JobStories& stories, Late late);

}  // namespace muster::testing
