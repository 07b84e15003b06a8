// job_node_process.cpp: what a node does between its start and its death.
#include "job_node_process.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <muster/base/random.hpp>

namespace muster::testing {
namespace {

constexpr const char* kNode = "--job-node";
constexpr unsigned kPartitions = 8;
constexpr long kPaceNs = 10'000'000;
constexpr useconds_t kGateLookUs = 50;

// Some orders of its own, and one that other nodes enqueue at the same time. What fails is enqueued
// again.
class Enqueuer {
 public:
  Enqueuer(const JobClient<Order>& client, const Ledger& ledger, int tag)
      : client_(client), ledger_(ledger), tag_(tag), random_(static_cast<std::uint64_t>(tag)) {}

  void enqueue_some() {
    if (batch_.empty()) make_batch();
    if (enqueue_noted(client_, ledger_, batch_, durability_)) batch_.clear();
  }

 private:
  void make_batch() {
    durability_ = random_.below(3) == 0 ? Durability::written : Durability::synced;
    for (auto left = 1 + random_.below(5); left > 0; --left) {
      const int number = ++last_;
      std::string kind = number % 2 == 0 ? "mails" : "plain";
      if (number % 5 == 0) kind = "flaky";
      if (number % 23 == 0) kind = "hopeless";
      batch_.push_back(
          {.id = std::to_string(tag_) + "-" + std::to_string(number), .event = {std::move(kind)}});
      if (random_.below(3) == 0) continue;
      batch_.back().partition_key = "customer-" + std::to_string(random_.below(kPartitions));
    }
    batch_.push_back({.id = "at-" + std::to_string(wall_ns() / 20'000'000), .event = {"mails"}});
  }

  const JobClient<Order>& client_;
  const Ledger& ledger_;
  const int tag_;
  Random random_;
  int last_ = 0;
  Orders batch_;
  Durability durability_ = Durability::synced;
};

void execute(JobContext& context, const Order& order, const NodeErrand& errand,
             const Ledger& ledger) {
  static std::atomic<int> runs = 0;
  const int run = ++runs;
  const std::string& id = context.job_id();
  const std::chrono::nanoseconds taken(context.processing_started_at().time_since_epoch());
  ledger.note("begins", id, taken.count());
  if (order.kind == "poison") (void)raise(SIGKILL);
  if (order.kind == "gated") {
    const std::string gate = gate_of(errand.ledger, id, errand.tag);
    while (!std::filesystem::exists(gate)) usleep(kGateLookUs);
  } else {
    usleep(static_cast<useconds_t>(200 * (run % 11)));
  }
  if (order.kind != "plain") {
    const std::string mail = id + "/" + std::to_string(errand.tag) + "/" + std::to_string(run);
    context.enqueue<Order>("mails", {.id = mail, .event = order});
  }
  const bool fails = order.kind == "hopeless" || (order.kind == "flaky" && context.attempt() < 3);
  ledger.note(fails ? "fails" : "ends", id);
  if (fails) throw std::runtime_error("as it is to be");
}

// By which a node is told what to do. They are blocked from its very beginning.
sigset_t orders() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  return signals;
}

int run(const NodeErrand& errand) {
  const sigset_t signals = orders();
  const Ledger ledger(errand.ledger, errand.tag);
  Jobs jobs = open_jobs(errand);
  const OrderPools pools = define_pools(jobs, errand, ledger);
  jobs.start();
  Enqueuer enqueuer(pools.orders, ledger, errand.tag);
  bool enqueues = errand.enqueues;
  for (int signal = 0; signal != SIGTERM;) {
    if (enqueues) enqueuer.enqueue_some();
    const timespec pause{.tv_sec = enqueues ? 0 : 1, .tv_nsec = enqueues ? kPaceNs : 0};
    signal = sigtimedwait(&signals, nullptr, &pause);
    if (signal == SIGUSR1) enqueues = false;
  }
  return jobs.stop().unfinished == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

std::string gate_of(const std::string& ledger, const std::string& id, int tag) {
  return ledger + "-" + id + "-" + std::to_string(tag);
}

Jobs open_jobs(const NodeErrand& errand) {
  return Jobs::open(errand.url, {.lease = errand.lease, .store_timeout = errand.store_timeout});
}

OrderPools define_pools(Jobs& jobs, const NodeErrand& errand, const Ledger& ledger) {
  const JobRetry retry{
      .max_attempts = errand.attempts, .delay = fixed(errand.retry_delay), .jitter = 1};
  return {
      .mails = jobs.define<Order>(
          "mails", {.concurrency = 2, .retry = retry, .execute = [](JobContext&, const Order&) {}}),
      .orders =
          jobs.define<Order>("orders", {.concurrency = 5,
                                        .retry = retry,
                                        .execute = [&](JobContext& context, const Order& order) {
                                          execute(context, order, errand, ledger);
                                        }})};
}

bool enqueue_noted(const JobClient<Order>& client, const Ledger& ledger, const Orders& orders,
                   Durability durability) {
  for (const auto& order : orders) ledger.note("asks", order.id);
  try {
    const EnqueueManyResult answer = client.enqueue_many(orders, durability);
    for (const EnqueueResult& result : answer.results) {
      const char* const word = result.created ? "created" : "known";
      ledger.note(durability == Durability::written ? "wrote" : word, result.job_id);
    }
    // The last one may be another node's.
    const auto own = std::span(answer.results).first(orders.size() - 1);
    const auto created = std::ranges::count(own, true, &EnqueueResult::created);
    if (created != 0 && created != std::ssize(own)) ledger.note("torn", orders.front().id);
    return true;
  } catch (const StoreFailure&) {
    for (const auto& order : orders) ledger.note("threw", order.id);
    return false;
  }
}

NodeProcess::NodeProcess(const NodeErrand& errand) {
  std::vector<std::string> words{"/proc/self/exe",
                                 kNode,
                                 errand.url,
                                 errand.ledger,
                                 std::to_string(errand.tag),
                                 errand.enqueues ? "enqueues" : "waits",
                                 std::to_string(errand.attempts),
                                 std::to_string(errand.retry_delay.count()),
                                 std::to_string(errand.lease.count()),
                                 std::to_string(errand.store_timeout.count())};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const sigset_t signals = orders();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  process_ = fork();
  if (process_ != 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

NodeProcess::~NodeProcess() {
  if (has_ended()) return;
  send(SIGKILL);
  (void)wait();
}

void NodeProcess::send(int signal) const {
  if (!status_) kill(process_, signal);
}

bool NodeProcess::has_ended() {
  int status = 0;
  if (!status_ && waitpid(process_, &status, WNOHANG) == process_) status_ = status;
  return status_.has_value();
}

int NodeProcess::wait() {
  int status = 0;
  if (!status_ && waitpid(process_, &status, 0) == process_) status_ = status;
  return status_.value_or(-1);
}

std::optional<int> run_node(int argc, char** argv) {
  if (argc != 10 || std::string(argv[1]) != kNode) return std::nullopt;
  return run({.url = argv[2],
              .ledger = argv[3],
              .tag = std::stoi(argv[4]),
              .enqueues = std::string(argv[5]) == "enqueues",
              .attempts = static_cast<unsigned>(std::stoul(argv[6])),
              .retry_delay = std::chrono::milliseconds(std::stoi(argv[7])),
              .lease = std::chrono::milliseconds(std::stoi(argv[8])),
              .store_timeout = std::chrono::milliseconds(std::stoi(argv[9]))});
}

}  // namespace muster::testing
