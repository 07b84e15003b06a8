// job_sessions_test.cpp: what nodes make of their sessions: what they leave behind with a pooler,
// how safe a transaction is, how often they come back to a server that is gone.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "job_nodes_testing.hpp"
#include "support/network_proxy.hpp"
#include "support/pgbouncer.hpp"

namespace muster::testing {
namespace {

using JobSessionsTest = JobNodesTest;

// All who come through the pooler have one session there.
TEST_F(JobSessionsTest, NobodyListensOnASessionThatIsAPoolers) {
  const PgBouncer bouncer(cluster().port(), {"default_pool_size=1"});
  const std::string pooled = with_port(url_, bouncer.port());
  Node& node =
      *nodes_.emplace_back(std::make_unique<Node>(pooled, config(1), JobsOptions{.lease = kLease}));
  node.jobs.start();
  (void)node.client.enqueue({.id = "a"});
  EXPECT_EQ(node.client.drain(kLong), DrainOutcome::drained);
  EXPECT_EQ(Stranger(pooled).ask("SELECT count(*) FROM pg_listening_channels()"), "0");
  nodes_.clear();  // before its pooler
}

}  // namespace
}  // namespace muster::testing
