// job_node_process.hpp: processes that run the jobs of a PostgreSQL database, and write a ledger.
//
// A node is this very program, started again: main() hands over to run_node() if the arguments say
// so. It runs and enqueues orders until it is killed or told to stop.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include <boost/describe.hpp>

#include <muster/job_pool.hpp>

#include "job_node_ledger.hpp"

namespace muster::testing {

// "plain"; the other kinds enqueue a mail, of which the id begins with the order's and "/":
// "mails", "flaky" (fails twice), "hopeless" (always fails), "gated" (waits for gate_of()),
// "poison" (kills its node).
struct Order {
  std::string kind;
};
BOOST_DESCRIBE_STRUCT(Order, (), (kind))

using Orders = std::vector<EnqueueOptions<Order>>;

// What a node is to do.
struct NodeErrand {
  std::string url = {};
  std::string ledger = {};
  int tag = 0;  // no other node has it
  bool enqueues = true;
  unsigned attempts = 6;
  std::chrono::milliseconds retry_delay{2};  // at least
  std::chrono::milliseconds lease{400};
  std::chrono::milliseconds store_timeout{3000};
};

// A file; an order of the kind "gated" ends at that node when there is one.
[[nodiscard]] std::string gate_of(const std::string& ledger, const std::string& id, int tag);

struct OrderPools {
  JobClient<Order> mails;
  JobClient<Order> orders;
};

[[nodiscard]] Jobs open_jobs(const NodeErrand& errand);

// Errand and ledger outlive the jobs.
OrderPools define_pools(Jobs& jobs, const NodeErrand& errand, const Ledger& ledger);

// In one transaction. False: nobody knows whether they are there.
bool enqueue_noted(const JobClient<Order>& client, const Ledger& ledger, const Orders& orders,
                   Durability durability = Durability::synced);

class NodeProcess {
 public:
  explicit NodeProcess(const NodeErrand& errand);
  ~NodeProcess();  // kills it
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  // SIGUSR1: enqueue no more. SIGTERM: stop.
  void send(int signal) const;

  [[nodiscard]] bool has_ended();

  // Waits for its end; as waitpid() says it.
  int wait();

 private:
  pid_t process_ = 0;
  std::optional<int> status_;
};

// Nothing: this process is no node. Else what main() returns.
std::optional<int> run_node(int argc, char** argv);

}  // namespace muster::testing
