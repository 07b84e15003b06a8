// durable_mails.cpp: mails that are sent once each, in order for each recipient, and are not
// forgotten when the program is killed.
//
//     ./dev run durable_mails [FILE]
//
// The first delivery to bob fails, as deliveries do; it is tried again, and his second mail waits
// for it, while ada's go on. Called again with the same file it has nothing left to do: the ids are
// known.
#include <chrono>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include <muster/job_pool.hpp>

using namespace std::chrono_literals;

struct Mail {
  std::string to;
  std::string text;
};
BOOST_DESCRIBE_STRUCT(Mail, (), (to, text))

namespace {

void say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "";
  muster::Jobs jobs = muster::Jobs::open(file.empty() ? "memory:" : "sqlite:" + file);

  const auto mails = jobs.define<Mail>(
      "mails",
      {.concurrency = 2,
       .retry = {.max_attempts = 5, .delay = muster::exponential(50ms, 5min)},
       .execute =
           [](muster::JobContext& job, const Mail& mail) {
             if (mail.to == "bob" && job.attempt() == 1) throw std::runtime_error("mailbox full");
             say(job.job_id() + " to " + mail.to + ": " + mail.text + " (attempt " +
                 std::to_string(job.attempt()) + ")");
           },
       .on_dead_letter =
           [](const Mail& mail, const muster::JobError& error, const muster::DeadLetterInfo&) {
             say("given up on " + mail.to + ": " + error.what);
           }});
  jobs.start();

  const std::vector<muster::EnqueueOptions<Mail>> news{
      {.id = "welcome-bob", .event = {"bob", "Welcome!"}, .partition_key = "bob"},
      {.id = "news-bob", .event = {"bob", "Have you seen this?"}, .partition_key = "bob"},
      {.id = "welcome-ada", .event = {"ada", "Welcome!"}, .partition_key = "ada"},
      {.id = "welcome-ada", .event = {"ada", "Welcome!"}, .partition_key = "ada"},
  };
  const muster::EnqueueManyResult result = mails.enqueue_many(news);
  say(std::to_string(result.enqueued) + " mails enqueued, " + std::to_string(result.duplicates) +
      " were known already");

  const bool is_done = mails.drain(30s) == muster::DrainOutcome::drained;
  say(std::to_string(mails.status().total_processed) + " mails sent so far");
  return is_done ? 0 : 1;
}
