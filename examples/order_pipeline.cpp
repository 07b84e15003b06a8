// order_pipeline.cpp: orders that become parcels that become mails, each step a durable job.
//
//     ./dev run order_pipeline [--store=FILE] [--seconds=N]
//
// Orders of one customer are worked off in the order they came, also when a payment fails and is
// tried again; whoever has no money is a dead letter. Each step enqueues the next together with its
// own completion, so that no order is shipped twice or forgotten. Kill it (kill -9) and start it
// again: it goes on where it stopped.
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/describe.hpp>

#include <muster/job_pool.hpp>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Item {
  std::string product;
  int quantity = 1;
};
BOOST_DESCRIBE_STRUCT(Item, (), (product, quantity))

struct Order {
  std::string order_id;
  std::string customer;
  std::vector<Item> items;
};
BOOST_DESCRIBE_STRUCT(Order, (), (order_id, customer, items))

namespace {

constexpr int kCustomers = 12;
constexpr const char* kBroke = "customer-11";

std::atomic<bool> interrupted = false;

struct NoMoney : std::runtime_error {
  NoMoney() : std::runtime_error("card declined") {}
};

struct Arguments {
  std::string store = (std::filesystem::temp_directory_path() /
                       ("muster-orders-" + std::to_string(getuid()) + ".db"))
                          .string();
  std::chrono::seconds time = 60s;
};

Arguments read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--store=")) {
      arguments.store = word.substr(8);
    } else if (word.starts_with("--seconds=")) {
      arguments.time = std::chrono::seconds(std::stoi(std::string(word.substr(10))));
    } else {
      throw std::invalid_argument("unknown argument \"" + std::string(word) +
                                  "\"; there are --store=FILE and --seconds=N");
    }
  }
  return arguments;
}

int random_below(int limit) {
  thread_local std::mt19937 generator(std::random_device{}());
  return std::uniform_int_distribution<int>(0, limit - 1)(generator);
}

// Work takes its time.
void work_for(std::chrono::milliseconds least, std::chrono::milliseconds more) {
  std::this_thread::sleep_for(
      least + std::chrono::milliseconds(random_below(static_cast<int>(more.count()))));
}

void take_order(muster::JobContext& job, const Order& order) {
  job.progress(0.3, "reserving");
  work_for(5ms, 20ms);
  job.progress(0.6, "paying");
  work_for(5ms, 20ms);
  if (order.customer == kBroke) throw NoMoney();
  if (random_below(8) == 0) throw std::runtime_error("the bank does not answer");
  job.enqueue<Order>("shipping",
                     {.id = order.order_id, .event = order, .partition_key = order.customer});
}

void ship(muster::JobContext& job, const Order& order) {
  work_for(5ms, 15ms);
  job.enqueue<Order>("mails", {.id = order.order_id, .event = order});
}

muster::JobPoolConfig<Order> orders_config() {
  return {
      .concurrency = 5,
      .retry = {.max_attempts = 5,
                .delay = muster::exponential(100ms, 5min),
                .is_retryable =
                    [](const muster::JobError& error) { return error.what != NoMoney().what(); }},
      .execute = take_order};
}

// Customers send them, some at once.
class Customers {
 public:
  explicit Customers(const muster::JobClient<Order>& orders) : orders_(orders) {
    const muster::JobPoolStatus before = orders.status();
    next_ = before.total_processed + before.total_pending + 1;
  }

  void order_some() {
    std::vector<muster::EnqueueOptions<Order>> some;
    for (int count = random_below(8); count > 0; --count) {
      const std::string id = "order-" + std::to_string(next_++);
      const std::string customer = "customer-" + std::to_string(random_below(kCustomers));
      some.push_back({.id = id,
                      .event = {id, customer, {{"tea", 1 + random_below(3)}, {"cup", 1}}},
                      .partition_key = customer,
                      .priority = customer == "customer-0" ? 10 : 0});
    }
    (void)orders_.enqueue_many(some);
  }

 private:
  const muster::JobClient<Order>& orders_;
  std::uint64_t next_ = 1;
};

struct Shop {
  muster::JobClient<Order> orders;
  muster::JobClient<Order> shipping;
  muster::JobClient<Order> mails;
};

// How fast counts grow, from look to look.
class Speed {
 public:
  void begin_look() {
    seconds_ = std::chrono::duration<double>(Clock::now() - last_).count();
    last_ = Clock::now();
  }

  // Per second; 0 at the first look.
  double of(const std::string& name, std::uint64_t count) {
    const auto [before, is_first] = counts_.try_emplace(name, count);
    return static_cast<double>(count - std::exchange(before->second, count)) / seconds_;
  }

 private:
  Clock::time_point last_ = Clock::now();
  double seconds_ = 1;
  std::map<std::string, std::uint64_t> counts_;
};

// The whole picture on a terminal, a line elsewhere.
class Display {
 public:
  explicit Display(std::string store) : store_(std::move(store)) {}

  void show(const Shop& shop) {
    const muster::JobPoolStatus pools[] = {shop.orders.status(), shop.shipping.status(),
                                           shop.mails.status()};
    muster::JobPoolStatus all;
    for (const muster::JobPoolStatus& pool : pools) {
      all.total_processed += pool.total_processed;
      all.total_pending += pool.total_pending;
      all.total_retries += pool.total_retries;
      all.total_dead += pool.total_dead;
    }
    speed_.begin_look();
    const double rate = speed_.of("all", all.total_processed);
    if (is_terminal_) {
      std::cout << "\033[H\033[J";
      say(store_, "   ", std::lround(rate), " jobs/s   Ctrl-C ends, kill -9 ", getpid(),
          " does no harm\n");
      say_columns("instance", "state", "job", "at", "done", "waiting", "retries", "dead", "jobs/s");
      for (const muster::JobPoolStatus& pool : pools) say_pool(pool);
    } else {
      say(all.total_processed, " jobs done, ", all.total_pending, " wait, ", all.total_retries,
          " retries, ", all.total_dead, " dead letters, ", std::lround(rate), " jobs/s");
    }
    std::cout << std::flush;
  }

  [[nodiscard]] std::chrono::milliseconds pace() const { return is_terminal_ ? 250ms : 1000ms; }

 private:
  template <class... Words>
  static void say(const Words&... words) {
    (std::cout << ... << words) << '\n';
  }

  template <class... Figures>
  static void say_columns(const std::string& name, std::string_view state, const std::string& job,
                          const std::string& at, const Figures&... figures) {
    std::cout << std::left << std::setw(12) << name << std::setw(12) << state << std::setw(14)
              << job << std::setw(10) << at << std::right;
    ((std::cout << std::setw(9) << figures), ...) << '\n';
  }

  void say_pool(const muster::JobPoolStatus& pool) {
    for (const muster::InstanceStatus& each : pool.instances) {
      say_columns(each.instance_id, to_string(each.state), each.current_job.value_or(""),
                  each.progress.text, each.processed, each.pending, each.retries, each.dead,
                  std::lround(speed_.of(each.instance_id, each.processed)));
    }
    std::cout << '\n';
  }

  const std::string store_;
  const bool is_terminal_ = isatty(STDOUT_FILENO) == 1;
  Speed speed_;
};

void run(const Arguments& arguments) {
  std::cout << "store: " << arguments.store << '\n' << std::flush;
  muster::Jobs jobs = muster::Jobs::open("sqlite:" + arguments.store);
  const Shop shop{.orders = jobs.define<Order>("orders", orders_config()),
                  .shipping = jobs.define<Order>("shipping", {.concurrency = 2, .execute = ship}),
                  .mails = jobs.define<Order>(
                      "mails", {.concurrency = 1, .execute = [](muster::JobContext&, const Order&) {
                                  work_for(1ms, 4ms);
                                }})};
  Customers customers(shop.orders);
  Display display(arguments.store);
  std::cout << shop.orders.status().total_processed << " orders done before, "
            << shop.orders.status().total_pending << " wait; "
            << shop.orders.dead_letters(1000).size() << " dead letters\n"
            << std::flush;
  jobs.start();
  const Clock::time_point end = Clock::now() + arguments.time;
  Clock::time_point next_look = Clock::now() + display.pace();
  while (Clock::now() < end && !interrupted) {
    customers.order_some();
    std::this_thread::sleep_for(100ms);
    if (Clock::now() < next_look) continue;
    display.show(shop);
    next_look = Clock::now() + display.pace();
  }
  (void)jobs.stop();
  const muster::JobPoolStatus orders = shop.orders.status();
  std::cout << orders.total_processed << " orders done, " << orders.total_pending
            << " wait for the next time; " << shop.orders.dead_letters(1000).size()
            << " dead letters\n"
            << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, [](int) { interrupted = true; });
  try {
    run(read(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "order_pipeline: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
