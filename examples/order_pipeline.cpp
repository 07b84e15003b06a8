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
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
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

void print_pool(const char* name, const muster::JobPoolStatus& pool) {
  std::printf("\n%-12s %-11s %-14s %-10s %8s %8s   retries %llu, dead letters %llu\033[K\n", name,
              "", "job", "", "done", "waiting", static_cast<unsigned long long>(pool.total_retries),
              static_cast<unsigned long long>(pool.total_dead));
  for (const muster::InstanceStatus& instance : pool.instances) {
    std::printf("%-12s %-11s %-14s %-10s %8llu %8llu\033[K\n", instance.instance_id.c_str(),
                std::string(to_string(instance.state)).c_str(),
                instance.current_job.value_or("").c_str(), instance.progress.text.c_str(),
                static_cast<unsigned long long>(instance.processed),
                static_cast<unsigned long long>(instance.pending));
  }
}

// The whole picture on a terminal, a line elsewhere.
class Display {
 public:
  explicit Display(std::string store) : store_(std::move(store)) {}

  void show(const Shop& shop) {
    const muster::JobPoolStatus orders = shop.orders.status();
    const muster::JobPoolStatus shipping = shop.shipping.status();
    const muster::JobPoolStatus mails = shop.mails.status();
    const std::uint64_t done =
        orders.total_processed + shipping.total_processed + mails.total_processed;
    const std::uint64_t waiting =
        orders.total_pending + shipping.total_pending + mails.total_pending;
    const double seconds = std::chrono::duration<double>(Clock::now() - last_).count();
    const double rate = static_cast<double>(done - done_) / seconds;
    const bool is_first = done_ == 0;
    done_ = done;
    last_ = Clock::now();
    if (!is_terminal_) {
      std::printf("%llu jobs done, %llu wait, %llu retries, %llu dead letters, %.0f jobs/s\n",
                  static_cast<unsigned long long>(done), static_cast<unsigned long long>(waiting),
                  static_cast<unsigned long long>(orders.total_retries),
                  static_cast<unsigned long long>(orders.total_dead), is_first ? 0.0 : rate);
      std::fflush(stdout);
      return;
    }
    std::printf("\033[H\033[J%s   %.0f jobs/s   Ctrl-C ends, kill -9 %d does no harm\033[K\n",
                store_.c_str(), is_first ? 0.0 : rate, getpid());
    print_pool("orders", orders);
    print_pool("shipping", shipping);
    print_pool("mails", mails);
    std::fflush(stdout);
  }

  [[nodiscard]] std::chrono::milliseconds pace() const { return is_terminal_ ? 250ms : 1000ms; }

 private:
  const std::string store_;
  const bool is_terminal_ = isatty(STDOUT_FILENO) == 1;
  std::uint64_t done_ = 0;
  Clock::time_point last_ = Clock::now();
};

void run(const Arguments& arguments) {
  std::cout << "store: " << arguments.store << std::endl;
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
            << shop.orders.status().total_pending << " wait" << std::endl;
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
            << " dead letters" << std::endl;
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
