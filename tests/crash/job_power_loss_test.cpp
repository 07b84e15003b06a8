// job_power_loss_test.cpp: the power goes at every operation of a store of jobs on its disk, and
// what was not synced is lost, torn or garbage. What was acknowledged as synced must be there.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

#include "jobs/stores/sqlite/sqlite_store.hpp"
#include "support/power_loss_vfs.hpp"
#include "support/temporary_folder.hpp"

namespace muster {
namespace {

using testing::LossModel;
using testing::PowerLossVfs;
using testing::SyncPoint;
using testing::Syncs;

constexpr int kBatches = 14;
constexpr int kJobs = 4;      // in each
constexpr int kLongLog = 60;  // pages, so that it is copied now and then

constexpr int kAfter = 3;  // noted behind each

std::string after_of(int number) {
  return "after " + std::to_string(number);
}

std::string id_of(int batch, int job) {
  return std::to_string(batch) + "-" + std::to_string(job);
}

// Every third is not synced; each also settles a job of the one before, which enqueues another.
Durability durability_of(int batch) {
  return batch % 3 == 2 ? Durability::written : Durability::synced;
}

StoreBatch batch_of(int number, PoolNumber pool, JobSeq settled) {
  StoreBatch batch;
  for (int job = 0; job < kJobs; ++job) {
    batch.jobs.push_back({.pool = pool, .id = id_of(number, job), .event = std::string(700, 'e')});
  }
  if (settled != 0) {
    batch.settlements.push_back(
        {.seq = settled,
         .place = {pool, 0},
         .enqueued = {{.pool = pool, .id = id_of(number, kJobs), .event = "{}"}}});
  }
  return batch;
}

// Two jobs as a batch of their own: into the journal.
StoreBatch noted(const std::string& name, PoolNumber pool) {
  StoreBatch batch;
  for (const char* const which : {"-one", "-other"}) {
    batch.jobs.push_back({.pool = pool, .id = name + which, .event = std::string(300, 'n')});
  }
  return batch;
}

// What survives the power, up to which number.
struct Acknowledged {
  int batch = -1;
  int after = -1;  // of what was noted behind the batches, and synced
};

// Until the power is gone. Behind each batch come some that stand in the journal only, synced; they
// fill it several times.
Acknowledged work(const SqliteStore::Options& options) {
  Acknowledged acknowledged;
  try {
    SqliteStore store(options);
    const PoolNumber pool = store.open_pool("p", 4).number;
    JobSeq first = 0;
    for (int number = 0; number < kBatches; ++number) {
      StoreBatch before = noted(std::to_string(number), pool);
      store.commit(before, Durability::written);
      StoreBatch batch = batch_of(number, pool, first);
      store.commit(batch, durability_of(number));
      if (durability_of(number) == Durability::synced) store.sync();
      first = batch.inserted.front().seq;
      if (durability_of(number) == Durability::synced) acknowledged.batch = number;
      for (int each = 0; each < kAfter; ++each) {
        StoreBatch after = noted(after_of(number * kAfter + each), pool);
        store.commit(after, Durability::synced);
        store.sync();
        acknowledged.after = number * kAfter + each;
      }
      if (number % 5 == 4) {
        (void)store.prune({.completed = Duration::zero(), .ids = Duration::max()},
                          WallTime::clock::now(), {});
      }
    }
  } catch (const StoreFailure&) {  // NOLINT(bugprone-empty-catch): the power is gone
  }
  return acknowledged;
}

// Whether all that was acknowledged is there, and what else is there is whole and in turn.
bool is_well(const std::string& path, const Acknowledged& acknowledged) {
  SqliteStore store({.path = path});
  const PoolNumber pool = store.open_pool("p", 4).number;
  int whole = 0;
  for (int number = 0; number < kBatches; ++number) {
    int found = 0;
    const int jobs = number == 0 ? kJobs : kJobs + 1;
    for (int job = 0; job < jobs; ++job) found += store.find(pool, id_of(number, job)) ? 1 : 0;
    if (found != 0 && found != jobs) return false;
    if (found == jobs && whole != number) return false;
    if (found != jobs) continue;
    ++whole;
    const auto has = [&](const std::string& id) { return store.find(pool, id).has_value(); };
    const std::string before = std::to_string(number);  // they came first
    if (!has(before + "-one") || !has(before + "-other")) return false;
    if (number == 0) continue;
    const bool is_settled = store.find(pool, id_of(number - 1, 0))->state == JobState::completed;
    if (!is_settled) return false;
  }
  for (int number = 0, found = 1; number < kBatches * kAfter; ++number) {
    const bool is_there = store.find(pool, after_of(number) + "-one").has_value();
    if (store.find(pool, after_of(number) + "-other").has_value() != is_there) return false;
    if (is_there && found == 0) return false;
    found = is_there ? 1 : 0;
    if (!is_there && number <= acknowledged.after) return false;
  }
  Database database({.path = path, .mode = Database::Mode::read});
  return database.word("PRAGMA integrity_check") == "ok" && whole > acknowledged.batch;
}

// Cuts the power at every operation, and looks. Says how often something was missing or broken.
int faults_of(Syncs syncs, const std::vector<LossModel>& models) {
  int faults = 0;
  std::uint64_t operations = 0;
  for (std::uint64_t cut = 1; cut <= operations || cut == 1; ++cut) {
    const testing::TemporaryFolder folder;
    PowerLossVfs vfs({.syncs = syncs});
    const SqliteStore::Options options{
        .path = folder.file("jobs.db"),
        .long_log = kLongLog,
        .vfs = vfs.name(),
        .journal = {.bytes = 4096,
                    .sync = [&vfs](const std::string& path) { return vfs.sync_mapped(path); }}};
    if (operations == 0) {
      (void)work(options);
      operations = vfs.figures().operations;
      EXPECT_GT(operations, 100U);
      continue;
    }
    vfs.cut_at_operation(cut);
    const Acknowledged acknowledged = work(options);
    for (const LossModel model : models) {
      Random random(cut);
      vfs.restore_after_power_loss(random, folder.path(), model);
      faults += is_well(options.path, acknowledged) ? 0 : 1;
    }
  }
  return faults;
}

// It is more than new jobs, so that it does not go into the journal.
StoreBatch batch_for_log(PoolNumber pool) {
  StoreBatch batch = batch_of(0, pool, 0);
  batch.pauses.push_back({.pool = pool, .is_paused = true});
  return batch;
}

// A disk tells of an error once, maybe while the log is copied to the database.
TEST(JobPowerLoss, ASyncThatFailedIsNotHiddenWhoeverMadeIt) {
  std::uint64_t syncs = 0;
  for (std::uint64_t bad = 0; bad <= syncs; ++bad) {
    const testing::TemporaryFolder folder;
    PowerLossVfs disk;
    SqliteStore store({.path = folder.file("jobs.db"), .long_log = 1, .vfs = disk.name()});
    StoreBatch batch = batch_for_log(store.open_pool("p", 4).number);
    const auto commit = [&] {
      store.commit(batch, Durability::synced);
      store.sync();
    };
    if (bad > 0) {
      disk.fail_at(SyncPoint{bad});
      EXPECT_THROW(commit(), StoreFailure) << "sync " << bad << " of " << syncs;
      continue;
    }
    syncs = disk.figures().syncs;
    commit();
    syncs = disk.figures().syncs - syncs;
    EXPECT_GE(syncs, 3U) << "of the log, of the database, of the log by us";
  }
}

TEST(JobPowerLoss, AfterASyncThatFailedNothingIsCommittedAnyMore) {
  const testing::TemporaryFolder folder;
  PowerLossVfs disk;
  SqliteStore store({.path = folder.file("jobs.db"), .vfs = disk.name()});
  StoreBatch batch = batch_for_log(store.open_pool("p", 4).number);
  store.commit(batch, Durability::written);
  disk.cut_power();
  EXPECT_THROW(store.sync(), StoreFailure);
  try {
    store.commit(batch, Durability::written);
    FAIL();
  } catch (const StoreFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("open the store anew"), std::string::npos)
        << failure.what();
  }
}

// What is in the journals is moved in, and one of the syncs fails that this takes.
TEST(JobPowerLoss, AStoreThatCannotBeOpenedLosesNothing) {
  bool is_open = false;
  for (std::uint64_t bad = 1; !is_open; ++bad) {
    const testing::TemporaryFolder folder;
    PowerLossVfs disk;
    const SqliteStore::Options options{.path = folder.file("jobs.db"), .vfs = disk.name()};
    PoolNumber pool = 0;
    {
      SqliteStore store(options);
      pool = store.open_pool("p", 4).number;
      StoreBatch batch = noted("a", pool);
      store.commit(batch, Durability::synced);
      store.sync();
      disk.cut_power();
    }
    Random random(bad);
    disk.restore_after_power_loss(random, folder.path(), LossModel::keep_all);
    disk.fail_at(SyncPoint{bad});
    try {
      const SqliteStore store(options);
      is_open = true;
      disk.cut_power();
    } catch (const StoreFailure&) {
      disk.cut_power();
    }
    disk.restore_after_power_loss(random, folder.path(), LossModel::drop_all);
    EXPECT_TRUE(SqliteStore({.path = options.path}).find(pool, "a-one")) << "sync " << bad;
    EXPECT_TRUE(!is_open || bad > 2) << "of the log, and of the database";
  }
}

TEST(JobPowerLoss, WhatWasSyncedIsThereWhereverThePowerGoes) {
  EXPECT_EQ(faults_of(Syncs::honoured, {LossModel::drop_all, LossModel::random_subset,
                                        LossModel::torn_sectors, LossModel::garbage_sectors}),
            0);
}

TEST(JobPowerLoss, ADiskThatDoesNotSyncIsFoundOut) {
  EXPECT_GT(faults_of(Syncs::ignored, {LossModel::drop_all}), 10);
}

}  // namespace
}  // namespace muster
