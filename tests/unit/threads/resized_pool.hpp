// resized_pool.hpp: a pool of each kind that a test resizes, and who came and went meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

namespace muster::testing {

inline constinit thread_local unsigned worker_here = 1000;

inline void wait_until(const std::function<bool()>& is_true) {
  while (!is_true()) std::this_thread::yield();
}

// Who has come and gone, in which order.
class Visits {
 public:
  void install(ThreadPoolOptions& options) {
    options.on_worker_start = [this](unsigned worker) {
      worker_here = worker;
      add("+" + std::to_string(worker));
    };
    options.on_worker_exit = [this](unsigned worker) { add("-" + std::to_string(worker)); };
  }
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(what);
  }
  [[nodiscard]] std::size_t count(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), what));
  }
  [[nodiscard]] std::size_t size() {
    const std::lock_guard lock(mutex_);
    return seen_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> seen_;
};

// A task that holds the worker that runs it.
class Held {
 public:
  ~Held() {
    free();
    if (is_held_) wait_until([this] { return has_ended_.load(); });
  }
  void hold(const std::function<void()>& last = {}) {
    worker_ = worker_here;
    is_held_ = true;
    is_held_.notify_all();
    is_free_.wait(false);
    if (last) last();
    has_ended_ = true;
  }
  void wait_until_held() { is_held_.wait(false); }
  void free() {
    is_free_ = true;
    is_free_.notify_all();
  }
  [[nodiscard]] unsigned worker() const { return worker_; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  std::atomic<unsigned> worker_ = 1000;
  std::atomic<bool> is_held_ = false;
  std::atomic<bool> is_free_ = false;
  std::atomic<bool> has_ended_ = false;
};

enum class Kind { stealing, no_stealing, global };

class ResizedPool : public ::testing::TestWithParam<Kind> {
 protected:
  ResizedPool() {
    options_.queueing = GetParam() == Kind::global ? Queueing::global : Queueing::stealing;
    options_.stealing.enabled = GetParam() == Kind::stealing;
    if (GetParam() == Kind::no_stealing) {  // exact turns, whatever workers seem to do
      options_.strategy = BuiltIn::weighted_round_robin;
      options_.weights = {1};
    }
    visits_.install(options_);
  }
  void make(unsigned workers) {
    options_.workers = workers;
    pool_ = std::make_unique<ThreadPool>(options_);
  }

  // One task on each worker, held; [i] is on worker i.
  std::vector<std::unique_ptr<Held>> hold_all() {
    const unsigned workers = pool_->worker_count();
    std::vector<std::unique_ptr<Held>> all;
    for (unsigned i = 0; i < workers; ++i) {
      all.push_back(std::make_unique<Held>());
      pool_->post([held = all.back().get()] { held->hold(); });
    }
    for (const auto& held : all) held->wait_until_held();
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a->worker() < b->worker(); });
    return all;
  }

  Visits visits_;
  ThreadPoolOptions options_;
  std::unique_ptr<ThreadPool> pool_;
};

inline auto every_kind() {
  return ::testing::Values(Kind::stealing, Kind::no_stealing, Kind::global);
}

inline std::string name_of(const ::testing::TestParamInfo<Kind>& tested) {
  if (tested.param == Kind::global) return "global";
  return tested.param == Kind::stealing ? "stealing" : "no_stealing";
}

}  // namespace muster::testing
