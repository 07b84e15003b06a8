// measured_pool.cpp: the pool, and what is verified of it.
#include "jobs/measured_pool.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace muster::bench {
namespace {

void enqueue_batch(const JobClient<Mail>& client, std::span<const EnqueueOptions<Mail>> batch,
                   Durability durability) {
  const EnqueueManyResult result = client.enqueue_many(batch, durability);
  if (result.enqueued == batch.size()) return;
  throw std::runtime_error("muster took " + std::to_string(result.enqueued) + " of " +
                           std::to_string(batch.size()) + " new jobs");
}

}  // namespace

MeasuredPool::MeasuredPool(const std::string& url, Handler handler)
    : handler_(std::move(handler)),
      jobs_(Jobs::open(url)),
      client_(jobs_.define<Mail>(
          "mails", {.concurrency = kInstances, .execute = [this](JobContext&, const Mail& mail) {
                      if (handler_) handler_(mail);
                      // relaxed: nothing else is read because of it
                      executed_.fetch_add(1, relaxed);
                    }})) {}

void MeasuredPool::enqueue(const Mails& mails, Durability durability) const {
  for_each_batch(mails, [this, durability](std::span<const EnqueueOptions<Mail>> batch) {
    enqueue_batch(client_, batch, durability);
  });
}

void MeasuredPool::fill(const MailNumbers& numbers) const {
  constexpr std::uint64_t kMost = 10'000;
  for (std::uint64_t done = 0; done < numbers.count; done += kMost) {
    const std::uint64_t count = std::min(kMost, numbers.count - done);
    const Mails mails = make_mails({numbers.first + done, count}, Ids::sequential);
    enqueue_batch(client_, mails, Durability::written);
  }
}

void MeasuredPool::drain() const {
  if (client_.drain(std::chrono::minutes(5)) != DrainOutcome::timed_out) return;
  throw std::runtime_error("muster did not run its jobs within five minutes");
}

void MeasuredPool::verify(std::uint64_t jobs) const {
  const std::uint64_t settled = client_.status().total_processed;
  if (executed() == jobs && settled == jobs) return;
  throw std::runtime_error("of " + std::to_string(jobs) + " jobs muster ran " +
                           std::to_string(executed()) + " and settled " + std::to_string(settled));
}

}  // namespace muster::bench
