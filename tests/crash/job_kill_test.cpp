// job_kill_test.cpp: processes that run jobs of a file, killed at random moments, with a ledger of
// what they were told and what they did.
//
// The ledger is a file that is only appended to, a line for each event, so that it survives them,
// too. This program is also that of the processes. MUSTER_KILLS makes it longer.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/job_pool.hpp>

#include "jobs/stores/sqlite/seq_runs.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

struct Order {
  int number = 0;  // from 1, in the order they are enqueued
  std::string padding = {};
};
BOOST_DESCRIBE_STRUCT(Order, (), (number, padding))

constexpr int kPartitions = 5;
constexpr const char* kNode = "--job-node";

std::string id_of(int number) {
  return "order-" + std::to_string(number);
}

std::string key_of(int number) {
  return "customer-" + std::to_string(number % kPartitions);
}

// A line is one write, which the kernel keeps whole.
class Ledger {
 public:
  explicit Ledger(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~Ledger() { close(file_); }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void note(const std::string& what, int number) const {
    const std::string line = what + " " + std::to_string(number) + "\n";
    if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  }

 private:
  const int file_;
};

// What a process is to do.
struct Errand {
  std::string store;
  std::string ledger;
  int first = 0;  // the number of its first order
  int count = 0;  // of orders to be enqueued
  bool drains = false;
  int poison = 0;   // the order that kills whoever runs it
  int padding = 0;  // bytes in each order more
};

// Twice. Not beside an order that kills: what runs then is charged, too.
bool fails(const Errand& errand, int number, unsigned attempt) {
  return errand.poison == 0 && number % 4 == 1 && attempt <= 2;
}

// Some one by one, some in batches, some again; half of them only written, not synced.
void enqueue_orders(const JobClient<Order>& orders, const Errand& errand, const Ledger& ledger) {
  const int end = errand.first + errand.count;
  const auto padding = static_cast<std::size_t>(errand.padding);
  for (int number = errand.first; number < end;) {
    const int batch = std::min(1 + number % 7, end - number);
    std::vector<EnqueueOptions<Order>> jobs;
    for (int i = 0; i < batch; ++i) {
      EnqueueOptions<Order> job{.id = id_of(number + i),
                                .event = {number + i, std::string(padding, 'x')}};
      // Every third has no key, and may be run by anybody.
      if ((number + i) % 3 != 0) job.partition_key = key_of(number + i);
      jobs.push_back(std::move(job));
    }
    const Durability durability = number % 2 == 0 ? Durability::synced : Durability::written;
    const EnqueueManyResult result = orders.enqueue_many(jobs, durability);
    for (int i = 0; i < batch; ++i) {
      ledger.note(result.results[static_cast<std::size_t>(i)].created ? "created" : "known",
                  number + i);
    }
    const int again = std::max(1, number - 10);
    const bool is_new = orders.enqueue({.id = id_of(again), .event = {again}}, durability).created;
    ledger.note(is_new ? "created" : "known", again);
    number += batch;
  }
}

int run_node(const Errand& errand) {
  const Ledger ledger(errand.ledger);
  Jobs jobs = Jobs::open("sqlite:" + errand.store);
  const auto mails = jobs.define<Order>(
      "mails", {.concurrency = 2, .execute = [&](JobContext&, const Order& order) {
                  ledger.note("mail", order.number);
                }});
  const auto orders = jobs.define<Order>(
      "orders", {.concurrency = 3,
                 .retry = {.max_attempts = errand.poison != 0 ? 3U : 10'000U, .delay = fixed(1ms)},
                 .execute = [&](JobContext& context, const Order& order) {
                   ledger.note("run", order.number);
                   if (order.number == errand.poison) kill(getpid(), SIGKILL);
                   if (fails(errand, order.number, context.attempt())) {
                     throw std::runtime_error("as it is to be");
                   }
                   context.enqueue<Order>(
                       "mails", {.id = id_of(order.number), .event = {.number = order.number}});
                   ledger.note("done", order.number);
                 }});
  // Some only enqueue: what is only written stays in the journal then.
  const bool runs_jobs = errand.drains || errand.first % 3 != 0;
  if (runs_jobs) jobs.start();
  enqueue_orders(orders, errand, ledger);
  if (!errand.drains) {
    for (;;) pause();  // until it is killed
  }
  const bool is_done =
      orders.drain(60s) == DrainOutcome::drained && mails.drain(60s) == DrainOutcome::drained;
  return is_done && jobs.stop().unfinished == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

class Node {
 public:
  explicit Node(const Errand& errand) {
    process_ = fork();
    if (process_ != 0) return;
    const std::vector<std::string> words{"/proc/self/exe",
                                         kNode,
                                         errand.store,
                                         errand.ledger,
                                         std::to_string(errand.first),
                                         std::to_string(errand.count),
                                         errand.drains ? "drains" : "stays",
                                         std::to_string(errand.poison),
                                         std::to_string(errand.padding)};
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
  }
  void kill_now() {
    kill(process_, SIGKILL);
    (void)wait();
  }
  // As waitpid() says it.
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    return status;
  }

 private:
  pid_t process_ = 0;
};

struct Line {
  std::string what;
  int number = 0;
};

std::vector<Line> lines_of(const std::string& path) {
  std::vector<Line> lines;
  std::ifstream file(path);
  for (Line line; file >> line.what >> line.number;) lines.push_back(line);
  return lines;
}

class JobKillTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string store() const { return folder_.file("jobs.db"); }
  [[nodiscard]] std::string ledger() const { return folder_.file("ledger"); }

  [[nodiscard]] std::uintmax_t ledger_bytes() const {
    std::error_code none;  // there is none yet
    const std::uintmax_t bytes = std::filesystem::file_size(ledger(), none);
    return none ? 0 : bytes;
  }

  // Until it is so long, or no longer grows.
  void wait_for_ledger(std::uintmax_t bytes) const {
    constexpr int kPatience = 500;  // of 200 us
    std::uintmax_t last = 0;
    for (int looks = 0; looks < kPatience && ledger_bytes() < bytes; ++looks) {
      usleep(200);
      if (ledger_bytes() != last) looks = 0;
      last = ledger_bytes();
    }
  }

  // Until the log is being copied to the database: at no other time does that grow. False: it is
  // not.
  [[nodiscard]] bool wait_for_checkpoint() const {
    constexpr int kPatience = 25'000;  // of 20 us
    const auto bytes = [this] {
      std::error_code none;
      const std::uintmax_t size = std::filesystem::file_size(store(), none);
      return none ? 0 : size;
    };
    const std::uintmax_t before = bytes();
    for (int looks = 0; looks < kPatience && bytes() <= before; ++looks) usleep(20);
    return bytes() > before;
  }

  // What a job enqueues is there if and only if it is completed.
  void expect_all_or_nothing() const {
    const SqliteStore opened({.path = store()});
    Database database({.path = store(), .mode = Database::Mode::read});
    EXPECT_EQ(database.number(
                  "SELECT count(*) FROM jobs AS o LEFT JOIN job AS m ON m.id = o.id AND m.pool ="
                  " (SELECT number FROM pool WHERE name = 'mails') WHERE o.pool ="
                  " (SELECT number FROM pool WHERE name = 'orders') AND"
                  " (o.state = 1) <> (m.seq IS NOT NULL)"),
              0);
  }

  // Every job has ended once, in one way, and was counted.
  void expect_each_ended_once() const {
    Database database({.path = store(), .mode = Database::Mode::read});
    std::map<JobSeq, int> ends;
    Statement completed(database, "SELECT seqs FROM completed");
    while (completed.step()) {
      for (const SeqRun& run : runs_in(completed.text(0))) {
        for (JobSeq seq = run.first; seq <= run.last; ++seq) ++ends[seq];
      }
    }
    Statement ended(database, "SELECT seq FROM ended");
    while (ended.step()) ++ends[ended.integer(0)];
    for (const auto& [seq, times] : ends) EXPECT_EQ(times, 1) << "ends of " << seq;
    const auto count = static_cast<std::int64_t>(ends.size());
    EXPECT_EQ(database.number("SELECT count(*) FROM job"), count);
    EXPECT_EQ(database.number("SELECT sum(processed) FROM instance"), count);
  }

  // What the store knows of an order, between two processes.
  static std::optional<JobState> state_in(SqliteStore& store, const char* pool, int number) {
    const auto found = store.find(store.open_pool(pool, 4).number, id_of(number));
    return found ? std::optional(found->state) : std::nullopt;
  }

  testing::TemporaryFolder folder_;
};

int kills() {
  const char* const chosen = std::getenv("MUSTER_KILLS");
  return chosen != nullptr ? std::stoi(chosen) : 130;
}

// Those of a partition begin in order, and none before the last one is done, also if that has to be
// tried again, or its process dies.
void expect_order(const std::vector<Line>& lines) {
  std::map<std::string, int> newest;          // of each partition
  std::map<std::string, std::set<int>> open;  // begun, and never done so far
  std::set<int> done;
  for (const Line& line : lines) {
    if (line.number % 3 == 0) continue;
    std::set<int>& others = open[key_of(line.number)];
    if (line.what == "done") {
      done.insert(line.number);
      others.erase(line.number);
    }
    if (line.what != "run") continue;
    int& before = newest[key_of(line.number)];
    EXPECT_TRUE(line.number > before || done.contains(line.number) || others.contains(line.number))
        << line.number << " begins behind " << before;
    before = std::max(before, line.number);
    if (!done.contains(line.number)) others.insert(line.number);
    EXPECT_TRUE(others.empty() || *others.begin() >= line.number)
        << line.number << " begins before " << *others.begin() << " is done";
  }
}

TEST_F(JobKillTest, NothingIsLostSettledTwiceOrOutOfOrder) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  Random random(seed);
  int next = 1;
  int checkpoints = 0;
  for (int round = 0; round < kills(); ++round) {
    const int count = 20 + static_cast<int>(random.below(100));
    const std::uintmax_t before = ledger_bytes();
    // Some write so much that the log is copied.
    const bool is_padded = round % 20 == 10 && round < 200;
    Node node({.store = store(),
               .ledger = ledger(),
               .first = next,
               .count = count,
               .padding = is_padded ? 400'000 : 0});
    // When it has done so much, and somewhere in what comes next.
    if (is_padded) {
      checkpoints += wait_for_checkpoint() ? 1 : 0;
    } else {
      wait_for_ledger(before + random.below(3000));
    }
    usleep(static_cast<useconds_t>(random.below(3000)));
    node.kill_now();
    // The next one begins with those that this one may or may not have enqueued.
    for (const Line& line : lines_of(ledger())) {
      if (line.what == "created") next = std::max(next, line.number + 1);
    }
    expect_all_or_nothing();
  }
  Node last({.store = store(), .ledger = ledger(), .first = next, .count = 10, .drains = true});
  ASSERT_EQ(last.wait(), 0) << "it did not come to an end";

  std::set<int> acknowledged;
  std::map<int, int> created;
  std::map<int, int> runs;
  const std::vector<Line> lines = lines_of(ledger());
  for (const Line& line : lines) {
    if (line.what == "created" || line.what == "known") acknowledged.insert(line.number);
    if (line.what == "created") ++created[line.number];
    if (line.what == "run") ++runs[line.number];
  }
  expect_order(lines);
  for (const auto& [number, times] : created) {
    EXPECT_EQ(times, 1) << "created is a lie, for " << number;
  }
  EXPECT_GT(acknowledged.size(), static_cast<std::size_t>(kills()));
  expect_each_ended_once();
  SqliteStore opened({.path = store()});
  std::size_t again = 0;
  for (const int number : acknowledged) {
    EXPECT_GE(runs[number], 1) << number << " was acknowledged and never run";
    EXPECT_EQ(state_in(opened, "orders", number), JobState::completed) << number;
    EXPECT_EQ(state_in(opened, "mails", number), JobState::completed) << number;
    again += runs[number] > 1 ? 1 : 0;
  }
  std::cout << acknowledged.size() << " jobs, " << kills() << " kills, " << checkpoints
            << " of them in a checkpoint, " << again << " jobs run more than once" << std::endl;
}

TEST_F(JobKillTest, AJobThatKillsItsProcessEndsAsADeadLetter) {
  constexpr int kPoison = 4;
  for (int death = 1; death <= 3; ++death) {
    Node node({.store = store(),
               .ledger = ledger(),
               .first = 1,
               .count = 10,
               .drains = true,
               .poison = kPoison});
    const int status = node.wait();
    EXPECT_TRUE(WIFSIGNALED(status)) << death;
  }
  Node last({.store = store(),
             .ledger = ledger(),
             .first = 1,
             .count = 10,
             .drains = true,
             .poison = kPoison});
  EXPECT_EQ(last.wait(), 0) << "three attempts are enough";
  const std::vector<Line> lines = lines_of(ledger());
  EXPECT_EQ(std::ranges::count_if(
                lines, [](const Line& line) { return line.what == "run" && line.number == 4; }),
            3);
  SqliteStore opened({.path = store()});
  for (int number = 1; number <= 10; ++number) {
    EXPECT_EQ(state_in(opened, "orders", number),
              number == kPoison ? JobState::dead : JobState::completed)
        << number;
  }
  const auto letters = opened.dead_letters(opened.open_pool("orders", 4).number, {});
  ASSERT_EQ(letters.size(), 1U);
  ASSERT_EQ(letters[0].letter.errors.size(), 3U);
  for (const AttemptError& error : letters[0].letter.errors) {
    EXPECT_EQ(error.kind, FailureKind::crash);
    EXPECT_EQ(error.what, "the process that ran it died");
  }
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  using namespace muster;
  if (argc == 9 && std::string(argv[1]) == kNode) {
    return run_node({.store = argv[2],
                     .ledger = argv[3],
                     .first = std::stoi(argv[4]),
                     .count = std::stoi(argv[5]),
                     .drains = std::string(argv[6]) == "drains",
                     .poison = std::stoi(argv[7]),
                     .padding = std::stoi(argv[8])});
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
