// node_test.cpp: what a node does when its store fails.
#include "jobs/node.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "group_commit_fixture.hpp"

namespace muster {
namespace {

class NodeTest : public ::testing::Test {
 protected:
  NodeTest() {
    pool_ = &node_.define("notes", {.concurrency = 1,
                                    .execute =
                                        [this](JobContext& context, std::string_view /*event*/) {
                                          seen_.push_back(context.job_id());
                                        },
                                    .max_event_bytes = 100});
  }

  void enqueue(const std::string& id, const std::optional<std::string>& key) {
    (void)node_.enqueue(*pool_, {{.id = id, .event = "{}", .partition_key = key}},
                        Durability::synced);
  }

  TestStore* const store_ = new TestStore;  // which the node has
  JobNode node_{std::unique_ptr<Store>(store_), {.mode = JobsMode::by_hand}};
  JobPoolState* pool_ = nullptr;
  std::vector<std::string> seen_;
};

TEST_F(NodeTest, WhatCouldNotBeCancelledKeepsItsPlace) {
  for (const char* const id : {"k1", "k2", "k3"}) enqueue(id, "k");
  enqueue("keyless", std::nullopt);
  for (const char* const id : {"k1", "k2", "keyless"}) {
    store_->fail(1);
    EXPECT_THROW((void)node_.cancel(*pool_, id, {}), StoreFailure) << id;
  }
  enqueue("last", std::nullopt);
  node_.start();
  EXPECT_EQ(node_.run_due(), 5U);
  EXPECT_EQ(seen_, (std::vector<std::string>{"k1", "k2", "k3", "keyless", "last"}));
}

TEST_F(NodeTest, WhatIsCancelledAtTheSecondAttemptIsGone) {
  for (const char* const id : {"k1", "k2"}) enqueue(id, "k");
  store_->fail(1);
  EXPECT_THROW((void)node_.cancel(*pool_, "k1", {}), StoreFailure);
  EXPECT_EQ(node_.cancel(*pool_, "k1", {}), JobCancelOutcome::cancelled);
  node_.start();
  EXPECT_EQ(node_.run_due(), 1U);
  EXPECT_EQ(seen_, (std::vector<std::string>{"k2"}));
}

}  // namespace
}  // namespace muster
