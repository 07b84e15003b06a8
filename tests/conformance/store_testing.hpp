// store_testing.hpp: the store that every test of stores drives, one kind after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/shared_store.hpp"
#include "jobs/store.hpp"
#include "store_keepers.hpp"

namespace muster::testing {

constexpr WallTime at(int seconds) {
  return WallTime(std::chrono::seconds(seconds));
}

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<Keeper>()> make;
};

class StoreTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoreTest() : keeper_(GetParam().make()) { pool_ = store().open_pool("webhooks", 4).number; }

  Store& store() { return keeper_->store(); }
  void reopen() { keeper_->reopen(); }

  NewJob job(const std::string& id) const {
    return {.pool = pool_, .id = id, .enqueued_at = at(1), .run_at = at(2), .event = "{}"};
  }
  // Every second time only written, which a store may do in another way.
  std::vector<Inserted> insert(const std::vector<NewJob>& jobs) {
    StoreBatch batch;
    batch.jobs = jobs;
    store().commit(batch, ++inserts_ % 2 == 0 ? Durability::synced : Durability::written);
    return batch.inserted;
  }
  JobSeq insert(const NewJob& job) { return insert(std::vector{job}).front().seq; }
  // As who holds what it settles.
  void commit_as_holder(StoreBatch& batch) {
    SharedStore* const shared = store().shared();
    const NodeNumber node = shared == nullptr ? 0 : shared->beat({}).node;
    for (Settlement& settlement : batch.settlements) {
      settlement.holder = node;
      settlement.place.pool = pool_;
    }
    store().commit(batch, Durability::synced);
  }
  StoreBatch::Settled settle(const Settlement& settlement) {
    StoreBatch batch;
    batch.settlements.push_back(settlement);
    commit_as_holder(batch);
    return batch.settled.front();
  }
  bool judge(const Verdict& verdict) {
    StoreBatch batch;
    batch.verdicts.push_back(verdict);
    store().commit(batch, Durability::written);
    return batch.judged.front();
  }
  std::vector<std::string> waiting() {
    std::vector<JobSeq> seqs;
    store().load_waiting(pool_, [&](const JobRecord& record) { seqs.push_back(record.seq); });
    std::vector<std::string> ids;
    for (const JobBody& body : store().read(seqs, Store::kAnySize)) ids.push_back(body.id);
    return ids;
  }

  std::unique_ptr<Keeper> keeper_;
  int inserts_ = 0;
  PoolNumber pool_ = 0;
};

using Words = std::vector<std::string>;

inline constexpr auto store_kind_name = [](const ::testing::TestParamInfo<StoreKind>& kind) {
  return std::string(kind.param.name);
};

inline auto all_stores() {
  return ::testing::Values(
      StoreKind{"memory", [] { return std::make_unique<MemoryKeeper>(); }},
      StoreKind{"sqlite", [] { return std::make_unique<SqliteKeeper>(); }},
      StoreKind{"postgresql", [] { return std::make_unique<PostgresKeeper>(); }});
}

}  // namespace muster::testing
