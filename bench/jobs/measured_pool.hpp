// measured_pool.hpp: muster's contender: a store with one pool of eight instances, whose jobs do
// nothing but be counted, unless they are told to.
//
// Thread safety: enqueue() and executed() from any thread, the rest from one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <muster/job_pool.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

#include "jobs/mails.hpp"

namespace muster::bench {

inline constexpr unsigned kInstances = 8;

class MeasuredPool {
 public:
  using Handler = std::function<void(const Mail& mail)>;

  // Not started yet. Throws what Jobs::open() does.
  explicit MeasuredPool(const std::string& url, Handler handler = {});
  MeasuredPool(const MeasuredPool&) = delete;
  MeasuredPool& operator=(const MeasuredPool&) = delete;

  // In batches. Throws std::runtime_error if one of them is not new.
  void enqueue(const Mails& mails, Durability durability) const;

  // The same for many that are made as they are needed: never more than a batch of ten thousand.
  void fill(const MailNumbers& numbers) const;

  void start() { jobs_.start(); }

  // Waits until all are settled, or until those are that were begun before a pause. Throws
  // std::runtime_error if that takes minutes.
  void drain() const;

  [[nodiscard]] const JobClient<Mail>& client() const { return client_; }

  // How many the handler was called for.
  [[nodiscard]] std::uint64_t executed() const {
    return executed_.load(relaxed);
  }  // relaxed: polled

  // Throws std::runtime_error unless as many were run, and as many were settled.
  void verify(std::uint64_t jobs) const;

 private:
  // Fixed at construction.
  const Handler handler_;

  // Any thread.
  alignas(kCacheLine) Atomic<std::uint64_t> executed_ = 0;

  // Goes first, since its jobs use the rest.
  Jobs jobs_;
  JobClient<Mail> client_;
};

}  // namespace muster::bench
