// job_pool_testing.hpp: a pool of notes on one store or another, and what its handlers have seen.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>

#include <muster/job_pool.hpp>

#include "support/postgres_cluster.hpp"
#include "support/temporary_folder.hpp"

namespace muster::testing {

using namespace std::chrono_literals;

struct Note {
  std::string customer;
  int number = 0;
};
BOOST_DESCRIBE_STRUCT(Note, (), (customer, number))

using Enqueue = EnqueueOptions<Note>;
using Config = JobPoolConfig<Note>;

// What handlers have seen, and a door that they may have to wait at.
class Witness {
 public:
  void see(const std::string& word) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(word);
  }
  std::vector<std::string> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::size_t count(const std::string& word) const {
    const std::vector<std::string> all = seen();
    return static_cast<std::size_t>(std::ranges::count(all, word));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> seen_;
};

class Door {
 public:
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }
  void wait() const { is_open_.wait(false); }

 private:
  std::atomic<bool> is_open_ = false;
};

inline JobRetry at_once(unsigned attempts) {
  return {.max_attempts = attempts, .delay = fixed(0ns), .jitter = 0};
}

// One server for all tests of a program, and a database for each.
inline PostgresCluster& cluster() {
  static PostgresCluster all({.fsync = false});
  return all;
}

// The parameter is what the store's URL begins with.
class JobPoolTest : public ::testing::TestWithParam<const char*> {
 protected:
  JobPoolTest() : url_(make_url()) { reopen(); }

  void reopen(const JobsOptions& options = {}) {
    jobs_.reset();
    jobs_.emplace(Jobs::open(url_, options));
  }

  [[nodiscard]] std::string make_url() const {
    const std::string store = GetParam();
    if (store == "postgresql") return cluster().create_database();
    return store == "sqlite" ? "sqlite:" + folder_.file("jobs.db") : "memory:";
  }

  Config noting() {
    return {.concurrency = 2, .execute = [this](JobContext&, const Note& note) {
              witness_.see(note.customer + std::to_string(note.number));
            }};
  }

  TemporaryFolder folder_;
  const std::string url_;
  Witness witness_;
  std::optional<Jobs> jobs_;
};

// Of stores that outlive their process.
class LastingJobPoolTest : public JobPoolTest {};

}  // namespace muster::testing
