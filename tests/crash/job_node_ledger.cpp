// job_node_ledger.cpp: lines in, stories and complaints out.
#include "job_node_ledger.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace muster::testing {
namespace {

constexpr int kMostShown = 5;

// Between a node's decision to run a job and the handler's first line there is time to be stopped.
// The decision is told by a clock that may be wrong by as much.
constexpr std::int64_t kDoubtNs = 50'000'000;

using NamedStory = JobStories::value_type;

void check_pair(const NamedStory& first, const NamedStory& next, Late late,
                Complaints& complaints) {
  const JobStory& before = first.second;
  const JobStory& after = next.second;
  for (const LedgerLine& line : before.begins) {
    std::int64_t began_ns = line.at_ns;
    if (late == Late::if_decided) began_ns = std::min(began_ns, line.taken_ns - kDoubtNs);
    if (began_ns <= after.settled_ns) continue;
    complaints.add(first.first + " began at node " + std::to_string(line.tag) + " " +
                   std::to_string((line.at_ns - after.settled_ns) / 1000) + " us after " +
                   next.first + " was settled");
  }
  if (&first == &next || !before.began || !after.began) return;
  // One that is dead has no end in the ledger if its last attempt died with its node.
  if (*after.began < (before.is_completed ? before.ended : before.began).value_or(0)) {
    complaints.add(next.first + " began before " + first.first + " had ended");
  }
}

}  // namespace

std::int64_t wall_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

Ledger::Ledger(const std::string& path, int tag)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)), tag_(tag) {}

Ledger::~Ledger() {
  close(file_);
}

void Ledger::note(const std::string& word, const std::string& id, std::int64_t taken_ns) const {
  const std::string line = word + " " + id + " " + std::to_string(tag_) + " " +
                           std::to_string(wall_ns()) + " " + std::to_string(taken_ns) + "\n";
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

std::vector<LedgerLine> read_ledger(const std::string& path) {
  std::vector<LedgerLine> lines;
  std::ifstream file(path);
  for (LedgerLine line; file >> line.word >> line.id >> line.tag >> line.at_ns >> line.taken_ns;) {
    lines.push_back(line);
  }
  return lines;
}

JobStories stories_of(const std::vector<LedgerLine>& ledger) {
  JobStories stories;
  for (std::size_t place = 0; place < ledger.size(); ++place) {
    const LedgerLine& line = ledger[place];
    JobStory& story = stories[line.id];
    const auto note_first = [place](std::optional<std::size_t>& first) {
      if (!first) first = place;
    };
    EXPECT_NE(line.word, "torn") << line.id;
    if (line.word == "asks") {
      note_first(story.asked);
      ++story.unanswered;
    } else if (line.word == "begins") {
      note_first(story.began);
      story.begins.push_back(line);
    } else if (line.word == "ends") {
      note_first(story.ended);
    } else if (line.word == "created" || line.word == "known" || line.word == "wrote") {
      note_first(story.acknowledged);
      --story.unanswered;
      story.created += line.word == "created" ? 1 : 0;
      story.is_written = story.is_written || line.word == "wrote";
    }
  }
  return stories;
}

Complaints::~Complaints() {
  EXPECT_LE(count_, kMostShown) << "complaints like the above";
}

void Complaints::add(const std::string& text) {
  if (++count_ <= kMostShown) ADD_FAILURE() << text;
}

// An enqueue without an answer may have created the job that another one finds.
void check_answers(const JobStories& stories, Unsynced unsynced) {
  Complaints complaints;
  for (const auto& [id, story] : stories) {
    const bool may_be_lost = story.is_written && unsynced == Unsynced::may_be_lost;
    if (story.acknowledged && !story.is_stored && !may_be_lost) complaints.add(id + " is lost");
    if (story.is_stored && !story.began) complaints.add(id + " was never run");
    if (story.is_completed && !story.ended) complaints.add(id + " was completed and never ended");
    if (story.created > 1) complaints.add(id + " was created twice");
    const bool has_creator = story.unanswered > 0 || story.is_written || story.created > 0;
    if (story.acknowledged && !has_creator) complaints.add(id + " was created by nobody");
  }
}

void check_order(const JobStories& stories, Late late) {
  Complaints complaints;
  std::map<std::string, std::vector<const NamedStory*>> partitions;
  for (const NamedStory& each : stories) {
    if (!each.second.is_stored) continue;
    check_pair(each, each, late, complaints);
    if (!each.second.key.empty()) partitions[each.second.key].push_back(&each);
  }
  for (const auto& [key, jobs] : partitions) {
    for (const NamedStory* first : jobs) {
      for (const NamedStory* next : jobs) {
        const std::optional<std::size_t>& acknowledged = first->second.acknowledged;
        if (!acknowledged || first == next || acknowledged >= next->second.asked) continue;
        check_pair(*first, *next, late, complaints);
      }
    }
  }
}

}  // namespace muster::testing
