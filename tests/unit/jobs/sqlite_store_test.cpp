// sqlite_store_test.cpp: what only a store in a file has to do: belong to one process, refuse what
// is no store, and know what was being run.
#include "jobs/stores/sqlite/sqlite_store.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/stores/sqlite/journal_pair.hpp"
#include "jobs/stores/sqlite/schema.hpp"
#include "support/temporary_folder.hpp"

namespace muster {
namespace {

class SqliteStoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("jobs.db"); }
  [[nodiscard]] SqliteStore open() const { return SqliteStore({.path = path()}); }
  [[nodiscard]] std::string refusal() const {
    try {
      const SqliteStore store({.path = path()});
    } catch (const StoreFailure& failure) {
      return failure.what();
    }
    return "";
  }

  testing::TemporaryFolder folder_;
};

bool says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

TEST_F(SqliteStoreTest, BelongsToOneAtATime) {
  {
    const SqliteStore first = open();
    const std::string message = refusal();
    EXPECT_TRUE(says(message, "process " + std::to_string(getpid()) + " has it")) << message;
    EXPECT_TRUE(says(message, path())) << message;
  }
  EXPECT_EQ(refusal(), "") << "free again";
}

// Who reads events keeps a state of the store in view, which is in the log.
TEST_F(SqliteStoreTest, ALongLogBeginsAnewThoughEventsAreRead) {
  constexpr int kLongLog = 20;  // pages
  SqliteStore store({.path = path(), .long_log = kLongLog});
  const PoolNumber pool = store.open_pool("notes", 1).number;
  for (int i = 0; i < 200; ++i) {
    StoreBatch batch;
    batch.jobs.push_back({.pool = pool, .id = std::to_string(i), .event = std::string(2000, 'x')});
    store.commit(batch, Durability::written);
    const JobSeq seq = batch.inserted.front().seq;
    const std::vector<JobBody> bodies = store.read(std::vector{JobSeq{1}, seq}, 10'000);
    ASSERT_EQ(bodies.size(), 2U) << "also the newest";
    EXPECT_EQ(bodies.back().id, std::to_string(i));
  }
  constexpr std::uintmax_t kPage = 4096 + 24;
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), 4 * kLongLog * kPage);
}

std::vector<std::string> ids_waiting(SqliteStore& store, PoolNumber pool) {
  std::vector<std::string> ids;
  store.load_waiting(pool, [&](const JobRecord& record) {
    ids.push_back(store.read(std::vector{record.seq}, 0).front().id);
  });
  return ids;
}

StoreBatch batch_of(PoolNumber pool, const std::vector<std::string>& ids) {
  StoreBatch batch;
  for (const std::string& id : ids) batch.jobs.push_back({.pool = pool, .id = id, .event = "{}"});
  return batch;
}

TEST_F(SqliteStoreTest, WhatIsOnlyWrittenIsInTheDatabaseWithTheNextTransaction) {
  SqliteStore store = open();
  const PoolNumber pool = store.open_pool("notes", 1).number;
  const auto rows = [this] {
    return Database({.path = path(), .mode = Database::Mode::read})
        .number("SELECT count(*) FROM waiting");
  };
  StoreBatch written = batch_of(pool, {"a", "b"});
  store.commit(written, Durability::written);
  EXPECT_TRUE(written.inserted[0].created && written.inserted[1].created);
  EXPECT_EQ(rows(), 0);
  StoreBatch again = batch_of(pool, {"b"});
  store.commit(again, Durability::synced);
  EXPECT_FALSE(again.inserted[0].created);
  EXPECT_EQ(again.inserted[0].seq, written.inserted[1].seq);
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(JournalPair(path(), {}).last(), 0) << "there is room for others";
  StoreBatch more = batch_of(pool, {"c"});
  store.commit(more, Durability::written);
  EXPECT_EQ(rows(), 2);
  EXPECT_TRUE(store.find(pool, "c")) << "who looks for it finds it";
  EXPECT_EQ(rows(), 3);
  StoreBatch settling;
  settling.settlements.push_back({.seq = more.inserted[0].seq, .place = {pool, 0}});
  store.commit(settling, Durability::synced);
  EXPECT_TRUE(settling.settled[0].is_settled);
  EXPECT_EQ(ids_waiting(store, pool), std::vector<std::string>({"a", "b"}));
}

TEST_F(SqliteStoreTest, AJobThatIsOnlyWrittenCanBeSettledAtOnce) {
  SqliteStore store = open();
  const PoolNumber pool = store.open_pool("notes", 1).number;
  StoreBatch batch = batch_of(pool, {"a"});
  store.commit(batch, Durability::written);
  StoreBatch settling;
  settling.settlements.push_back({.seq = batch.inserted[0].seq, .place = {pool, 0}});
  store.commit(settling, Durability::synced);
  EXPECT_TRUE(settling.settled[0].is_settled);
  EXPECT_EQ(store.find(pool, "a")->state, JobState::completed);
  StoreBatch again = batch_of(pool, {"a"});
  store.commit(again, Durability::written);
  EXPECT_FALSE(again.inserted[0].created) << "also if it is in the database only";
}

// In the journal, in the database, in the same batch; for this process and for the next.
TEST_F(SqliteStoreTest, AnIdIsTakenWhereverItsJobIs) {
  const auto created = [](SqliteStore& store, const std::vector<std::string>& ids,
                          Durability durability = Durability::written) {
    StoreBatch batch = batch_of(store.open_pool("notes", 1).number, ids);
    store.commit(batch, durability);
    std::string marks;
    for (const Inserted& inserted : batch.inserted) marks += inserted.created ? '+' : '-';
    return marks;
  };
  {
    SqliteStore store = open();
    EXPECT_EQ(created(store, {"a"}), "+");
    EXPECT_EQ(created(store, {"b", "a"}), "+-");
    EXPECT_EQ(created(store, {"c", "c"}), "+-");
    EXPECT_EQ(created(store, {"d"}), "+");
    EXPECT_EQ(created(store, {"s"}, Durability::synced), "+");
    EXPECT_EQ(created(store, {"s"}), "-");
  }
  SqliteStore store = open();
  EXPECT_EQ(created(store, {"a", "b", "c", "d", "e"}), "----+");
}

std::int64_t rows_waiting(const std::string& path) {
  return Database({.path = path, .mode = Database::Mode::read})
      .number("SELECT count(*) FROM waiting");
}

TEST_F(SqliteStoreTest, WhatIsSyncedCostsNoTransactionEither) {
  int syncs = 0;
  SqliteStore store({.path = path(), .journal = {.sync = [&](const std::string& /*path*/) {
                                       ++syncs;
                                       return true;
                                     }}});
  const PoolNumber pool = store.open_pool("notes", 1).number;
  const int before = syncs;
  StoreBatch batch = batch_of(pool, {"a", "b"});
  store.commit(batch, Durability::synced);
  EXPECT_EQ(syncs, before);
  store.sync();
  EXPECT_EQ(syncs, before + 1);
  store.sync();
  EXPECT_EQ(syncs, before + 1) << "there is nothing new";
  EXPECT_EQ(rows_waiting(path()), 0);
  EXPECT_EQ(ids_waiting(store, pool), std::vector<std::string>({"a", "b"}));
  EXPECT_EQ(rows_waiting(path()), 2);
}

TEST_F(SqliteStoreTest, AJournalThatCannotBeSyncedEndsTheStore) {
  bool is_good = true;
  const auto sync = [&](const std::string& /*path*/) { return is_good; };
  SqliteStore store({.path = path(), .journal = {.sync = sync}});
  const PoolNumber pool = store.open_pool("notes", 1).number;
  StoreBatch batch = batch_of(pool, {"a"});
  store.commit(batch, Durability::synced);
  is_good = false;
  EXPECT_THROW(store.sync(), StoreFailure);
  is_good = true;
  EXPECT_THROW(store.sync(), StoreFailure);
  StoreBatch next = batch_of(pool, {"b"});
  EXPECT_THROW(store.commit(next, Durability::written), StoreFailure);
}

// Nobody looks for them, nothing is settled, and nobody enqueues any more.
TEST_F(SqliteStoreTest, AFullJournalIsMovedInByItself) {
  SqliteStore store({.path = path(), .journal = {.bytes = 4096}});
  const PoolNumber pool = store.open_pool("notes", 1).number;
  StoreBatch first = batch_of(pool, {"first"});
  first.jobs.front().event.assign(3000, 'x');
  store.commit(first, Durability::written);
  StoreBatch next = batch_of(pool, {"next"});
  next.jobs.front().event.assign(3000, 'x');
  store.commit(next, Durability::written);
  const Time deadline = real_clock().now() + std::chrono::seconds(20);
  while (rows_waiting(path()) == 0 && real_clock().now() < deadline) std::this_thread::yield();
  EXPECT_EQ(rows_waiting(path()), 1) << "the other journal is not full";
}

TEST_F(SqliteStoreTest, AFullJournalIsMovedInWhileOthersEnqueue) {
  constexpr int kJobs = 3000;
  PoolNumber pool = 0;
  {
    SqliteStore store({.path = path(), .journal = {.bytes = 16'384}});
    pool = store.open_pool("notes", 1).number;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&store, pool, thread] {
        for (int i = thread; i < kJobs; i += 3) {
          StoreBatch batch = batch_of(pool, {std::to_string(i)});
          store.commit(batch, i % 2 == 0 ? Durability::synced : Durability::written);
          store.sync();
          EXPECT_TRUE(batch.inserted[0].created);
        }
      });
    }
    threads.clear();
    EXPECT_GT(rows_waiting(path()), kJobs / 2);
  }
  SqliteStore store = open();
  std::set<std::string> ids;
  JobSeq last = 0;
  store.load_waiting(pool, [&](const JobRecord& record) {
    EXPECT_EQ(record.seq, ++last) << "none is missing, none is there twice";
    ids.insert(store.read(std::vector{record.seq}, 0).front().id);
  });
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kJobs));
}

// A process that was killed behind its transaction leaves in the journal what is in the database.
TEST_F(SqliteStoreTest, WhatTheDatabaseHasKnownIsNotTakenFromTheJournalAgain) {
  PoolNumber pool = 0;
  {
    SqliteStore store = open();
    pool = store.open_pool("notes", 1).number;
    StoreBatch batch = batch_of(pool, {"a", "b"});
    store.commit(batch, Durability::synced);
    StoreBatch settling;
    settling.settlements.push_back({.seq = 1, .place = {pool, 0}});
    store.commit(settling, Durability::synced);
    (void)store.prune({.completed = Duration::zero(), .ids = Duration::zero()},
                      WallTime::clock::now() + std::chrono::hours(1), {});
    ASSERT_FALSE(store.find(pool, "a"));
  }
  const std::vector<NewJob> known = batch_of(pool, {"a", "b", "c"}).jobs;
  ASSERT_TRUE(JournalPair(path(), {}).add(1, known, Durability::synced));
  SqliteStore store = open();
  EXPECT_EQ(ids_waiting(store, pool), std::vector<std::string>({"b", "c"}));
  EXPECT_FALSE(store.find(pool, "a"));
  StoreBatch next = batch_of(pool, {"d"});
  store.commit(next, Durability::synced);
  EXPECT_EQ(next.inserted[0].seq, 4) << "behind what was taken from there";
}

TEST_F(SqliteStoreTest, WhatIsNoStoreIsRefusedAndNotChanged) {
  const std::string text(10'000, 'x');
  std::ofstream(path()) << text;
  const std::string message = refusal();
  EXPECT_TRUE(says(message, "it is no SQLite database")) << message;
  std::ifstream file(path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST_F(SqliteStoreTest, ADatabaseOfAnotherProgramIsRefused) {
  Database({.path = path()}).run("CREATE TABLE theirs(x)");
  EXPECT_TRUE(says(refusal(), "it is a database of another program")) << refusal();
}

TEST_F(SqliteStoreTest, ANewerVersionIsRefused) {
  (void)open();
  Database({.path = path()}).run("PRAGMA user_version = 99");
  const std::string message = refusal();
  EXPECT_TRUE(says(message, "its version is 99")) << message;
  EXPECT_TRUE(says(message, "use a newer release")) << message;
}

// As it was before what a job is and whether it waits became two tables.
TEST_F(SqliteStoreTest, AnOlderVersionIsTakenOverWithAllThatIsInIt) {
  std::ifstream sample(MUSTER_SAMPLES "/store_version_2.sql");
  Database({.path = path()}).run(std::string(std::istreambuf_iterator<char>(sample), {}));
  SqliteStore store = open();
  const PoolRecord pool = store.open_pool("mails", 4);
  EXPECT_TRUE(pool.is_paused);
  EXPECT_EQ(pool.instances.at(0).processed, 41U);
  EXPECT_EQ(store.recall("nightly"), 7);
  std::vector<JobRecord> waiting;
  store.load_waiting(pool.number, [&](const JobRecord& job) { waiting.push_back(job); });
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].seq, 3);
  EXPECT_EQ(waiting[0].priority, 5);
  EXPECT_EQ(waiting[0].attempts, 1U);
  EXPECT_EQ(waiting[0].turn, 2U);
  EXPECT_EQ(waiting[0].key, "k");
  EXPECT_EQ(waiting[0].at, WallTime(std::chrono::nanoseconds(200)));
  EXPECT_EQ(store.read(std::vector<JobSeq>{3}, Store::kAnySize).at(0).event, R"({"a":1})");
  EXPECT_EQ(store.remains(3).log, "one");
  EXPECT_EQ(store.find(pool.number, "done")->state, JobState::completed);
  EXPECT_EQ(store.find(pool.number, "done")->at, WallTime(std::chrono::nanoseconds(201)));
  EXPECT_EQ(store.remains(4).result, "42");
  EXPECT_EQ(store.find(pool.number, "cancelled")->state, JobState::cancelled);
  const auto dead = store.dead_letters(pool.number, {});
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].letter.id, "dead");
  EXPECT_EQ(dead[0].letter.errors.at(0).what, "never");
  StoreBatch batch;
  batch.jobs.push_back({.pool = pool.number, .id = "emptied"});
  batch.jobs.push_back({.pool = pool.number, .id = "new"});
  store.commit(batch, Durability::synced);
  EXPECT_FALSE(batch.inserted[0].created) << "its id is still known";
  EXPECT_EQ(batch.inserted[1].seq, 10);
  EXPECT_TRUE(store.all_jobs({.after = 9}).at(0).errors.empty()) << "those of another job";
}

TEST_F(SqliteStoreTest, AFolderThatDoesNotExistIsNamed) {
  try {
    const SqliteStore store({.path = folder_.file("nowhere/jobs.db")});
    FAIL();
  } catch (const StoreFailure& failure) {
    EXPECT_TRUE(says(failure.what(), "nowhere/jobs.db")) << failure.what();
    EXPECT_TRUE(says(failure.what(), "the folder must exist")) << failure.what();
  }
}

TEST_F(SqliteStoreTest, ACorruptFileIsRefusedOrReadButNeverCrashes) {
  {
    SqliteStore store = open();
    StoreBatch batch;
    for (int i = 0; i < 200; ++i) {
      batch.jobs.push_back({.pool = store.open_pool("p", 4).number,
                            .id = std::to_string(i),
                            .event = std::string(100, 'e')});
    }
    store.commit(batch, Durability::synced);
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + 8);
  file << std::string(4096, '\x5a');
  file.close();
  try {
    SqliteStore store({.path = path()});
    store.load_waiting(store.open_pool("p", 4).number, [](const JobRecord&) {});
    FAIL() << "half of its first table is gone";
  } catch (const StoreFailure& failure) {
    EXPECT_TRUE(says(failure.what(), "corrupt")) << failure.what();
  }
}

TEST_F(SqliteStoreTest, ACommitForWhichThereIsNoRoomChangesNothing) {
  SqliteStore store({.path = path(), .max_pages = 40});
  const PoolNumber pool = store.open_pool("p", 4).number;
  StoreBatch batch;
  batch.jobs.push_back({.pool = pool, .id = "good", .event = "{}"});
  batch.jobs.push_back({.pool = pool, .id = "large", .event = std::string(400'000, 'x')});
  try {
    store.commit(batch, Durability::synced);
    FAIL();
  } catch (const StoreFailure& failure) {
    EXPECT_TRUE(says(failure.what(), "disk full")) << failure.what();
    EXPECT_TRUE(says(failure.what(), "free space and retry")) << failure.what();
  }
  EXPECT_FALSE(store.find(pool, "good"));
  batch.jobs.pop_back();
  store.commit(batch, Durability::synced);
  EXPECT_EQ(store.find(pool, "good")->seq, 1) << "and the store works on";
}

TEST_F(SqliteStoreTest, TheLogDoesNotGrowForEver) {
  SqliteStore store = open();
  const PoolNumber pool = store.open_pool("p", 4).number;
  for (int i = 0; i < 40; ++i) {
    StoreBatch batch;
    batch.jobs.push_back(
        {.pool = pool, .id = std::to_string(i), .event = std::string(1'000'000, 'e')});
    store.commit(batch, Durability::written);
  }
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), 20'000'000U);
}

// What a process was running when it was killed is known to the next.
TEST_F(SqliteStoreTest, KnowsWhatWasBeingRunWhenItsProcessDied) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SqliteStore store({.path = path()});
    store.note_running(0, 11);
    store.note_running(7, 12);
    store.note_running(3, 13);
    store.note_running(3, 0);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  {
    SqliteStore store = open();
    EXPECT_EQ(store.take_interrupted(), (std::vector<JobSeq>{11, 12}));
    EXPECT_TRUE(store.take_interrupted().empty());
  }
  EXPECT_TRUE(open().take_interrupted().empty());
}

}  // namespace
}  // namespace muster
