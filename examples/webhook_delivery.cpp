// webhook_delivery.cpp: webhooks that reach their customers in order, or are kept as dead letters.
//
//     ./dev run webhook_delivery
//
// Webhooks of one customer are delivered one after the other, at most twenty a second. A server
// that is down is asked again, after 20, 40 and 80 ms; one that says that the request is wrong
// (4xx) is not. What cannot be delivered is a dead letter: it is still there when the program is
// started again, and is replayed when the customer has repaired his endpoint.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/describe.hpp>
#include <boost/json.hpp>

#include <muster/job_pool.hpp>

using namespace std::chrono_literals;

struct Webhook {
  std::string endpoint;
  std::string customer;
  boost::json::value payload;
};
BOOST_DESCRIBE_STRUCT(Webhook, (), (endpoint, customer, payload))

namespace {

using Words = std::vector<std::string>;

struct HttpError : std::runtime_error {
  explicit HttpError(int given)
      : std::runtime_error("HTTP " + std::to_string(given)), status(given) {}
  int status;
};

// The other side. Any thread.
class Internet {
 public:
  // The status of the answer.
  int post(const std::string& endpoint, const std::string& id) {
    const std::lock_guard lock(mutex_);
    const int request = ++requests_[endpoint];
    int status = 200;
    if (endpoint == "https://bolt.example/old" && !is_bolt_repaired_) status = 410;
    if (endpoint == "https://crow.example/hook") status = 500;
    if (endpoint == "https://acme.example/hook" && request <= 2) status = 503;
    std::cout << id << " -> " << endpoint << ": " << status << '\n';
    if (status == 200) delivered_[endpoint].push_back(id);
    return status;
  }
  void repair_bolt() {
    const std::lock_guard lock(mutex_);
    is_bolt_repaired_ = true;
  }
  void say(const std::string& line) {
    const std::lock_guard lock(mutex_);
    std::cout << line << '\n';
  }
  [[nodiscard]] Words delivered(const std::string& endpoint) {
    const std::lock_guard lock(mutex_);
    return delivered_[endpoint];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> requests_;
  std::map<std::string, Words> delivered_;
  bool is_bolt_repaired_ = false;
};

// What the customer's server refuses it would refuse again.
bool is_worth_another(const muster::JobError& error) {
  if (!error.exception) return true;
  try {
    std::rethrow_exception(error.exception);
  } catch (const HttpError& refused) {
    return refused.status < 400 || refused.status >= 500;
  } catch (...) {
    return true;
  }
}

muster::JobPoolConfig<Webhook> delivery(Internet& internet) {
  return {.concurrency = 10,
          .retry = {.max_attempts = 4,
                    .delay = muster::exponential(20ms, 5min),
                    .is_retryable = is_worth_another},
          .execute =
              [&internet](muster::JobContext& job, const Webhook& hook) {
                const int status = internet.post(hook.endpoint, job.job_id());
                job.log("attempt " + std::to_string(job.attempt()) + ": " + std::to_string(status));
                if (status >= 300) throw HttpError(status);
                job.result(status);
              },
          .on_dead_letter =
              [&internet](const Webhook& hook, const muster::JobError& error,
                          const muster::DeadLetterInfo& info) {
                internet.say(info.job_id + " is a dead letter after " +
                             std::to_string(info.attempts) + " attempts: " + error.what + "; " +
                             hook.customer + " is told");
              },
          .timeout = 10s,
          .limits = {.key = muster::per_second(20)}};
}

muster::EnqueueOptions<Webhook> webhook(const std::string& id, const std::string& customer,
                                        const std::string& endpoint) {
  return {.id = id,
          .event = {.endpoint = endpoint,
                    .customer = customer,
                    .payload = {{"type", "order.shipped"}, {"order", id}}},
          .partition_key = customer};
}

void print(const muster::JobClient<Webhook>& webhooks, const Words& ids) {
  std::printf("\n%-8s %-8s %s\n", "webhook", "result", "log of the last attempt");
  for (const std::string& id : ids) {
    std::string log = webhooks.log(id).value_or("-\n");
    log.pop_back();
    std::printf("%-8s %-8s %s\n", id.c_str(), webhooks.result(id).value_or("none").c_str(),
                log.c_str());
  }
  std::printf("\n%-12s %-11s %6s %8s\n", "instance", "", "ended", "waiting");
  for (const muster::InstanceStatus& instance : webhooks.status().instances) {
    if (instance.processed == 0) continue;
    std::printf("%-12s %-11s %6llu %8llu\n", instance.instance_id.c_str(),
                std::string(to_string(instance.state)).c_str(),
                static_cast<unsigned long long>(instance.processed),
                static_cast<unsigned long long>(instance.pending));
  }
}

// Throws if it is not so.
void check(const char* what, bool is_so) {
  if (!is_so) throw std::runtime_error(std::string("not as expected: ") + what);
}

void first_day(const std::string& url, Internet& internet) {
  muster::Jobs jobs = muster::Jobs::open(url);
  const auto webhooks = jobs.define<Webhook>("webhooks", delivery(internet));
  jobs.start();
  std::vector<muster::EnqueueOptions<Webhook>> hooks{
      webhook("acme-1", "acme", "https://acme.example/hook"),
      webhook("acme-2", "acme", "https://acme.example/hook"),
      webhook("bolt-1", "bolt", "https://bolt.example/old"),
      webhook("bolt-2", "bolt", "https://bolt.example/new"),
      webhook("crow-1", "crow", "https://crow.example/hook"),
  };
  for (int i = 1; i <= 5; ++i) {
    hooks.push_back(webhook("dove-" + std::to_string(i), "dove", "https://dove.example/hook"));
  }
  (void)webhooks.enqueue_many(hooks);
  check("the same webhook is known", !webhooks.enqueue(hooks[0]).created);
  check("all is done", webhooks.drain(30s) == muster::DrainOutcome::drained);
  check("two were given up", webhooks.status().total_dead == 2);
}

void second_day(const std::string& url, Internet& internet) {
  muster::Jobs jobs = muster::Jobs::open(url);
  const auto webhooks = jobs.define<Webhook>("webhooks", delivery(internet));
  jobs.start();
  internet.say("\nthe next day:");
  for (const muster::JobDeadLetter& letter : webhooks.dead_letters()) {
    internet.say(letter.id + ": " + letter.errors.back().what + " (" +
                 std::to_string(letter.errors.size()) + " attempts)");
  }
  internet.repair_bolt();
  check("bolt-1 is replayed", webhooks.replay("bolt-1"));
  check("crow-1 is discarded", webhooks.discard("crow-1"));
  check("all is done", webhooks.drain(30s) == muster::DrainOutcome::drained);
  check("no dead letter is left", webhooks.dead_letters().empty());
  check("bolt-1 has its result", webhooks.result("bolt-1") == "200");
  print(webhooks, {"acme-1", "acme-2", "bolt-1", "bolt-2", "crow-1", "dove-5"});
}

class Folder {
 public:
  Folder() { std::filesystem::create_directory(path_); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("muster-webhooks-" + std::to_string(getpid()));
};

}  // namespace

int main() {
  try {
    const Folder folder;
    const std::string url = "sqlite:" + folder.file("jobs.db");
    Internet internet;
    first_day(url, internet);
    second_day(url, internet);
    check("acme has its webhooks in order",
          internet.delivered("https://acme.example/hook") == Words{"acme-1", "acme-2"});
    check("bolt has both", internet.delivered("https://bolt.example/old") == Words{"bolt-1"} &&
                               internet.delivered("https://bolt.example/new") == Words{"bolt-2"});
    check("dove has its webhooks in order",
          internet.delivered("https://dove.example/hook") ==
              Words{"dove-1", "dove-2", "dove-3", "dove-4", "dove-5"});
  } catch (const std::exception& error) {
    std::cerr << "webhook_delivery: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
