// journal_test.cpp: what was added is there, for whoever opens the file next, and nothing else.
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/jobs/job_error.hpp>

#include "jobs/stores/sqlite/journal_pair.hpp"
#include "support/temporary_folder.hpp"

namespace muster {
namespace {

WallTime at(int seconds) {
  return WallTime(std::chrono::seconds(seconds));
}

NewJob job(const std::string& id, PoolNumber pool = 1) {
  return {.pool = pool, .id = id, .enqueued_at = at(1), .run_at = at(2), .event = "{}"};
}

std::vector<std::string> ids_in(const Journal& journal) {
  std::vector<std::string> ids;
  journal.for_each([&](const Journal::Noted& noted) {
    ids.push_back(std::to_string(noted.seq) + " " + std::string(noted.id));
  });
  return ids;
}

using Ids = std::vector<std::string>;

class JournalTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("jobs.db"); }
  [[nodiscard]] std::string file() const { return path() + "-written1"; }
  [[nodiscard]] Journal open() const { return {path(), file(), {}}; }

  void overwrite(std::streamoff place, const std::string& bytes) const {
    std::fstream changed(file(), std::ios::in | std::ios::out | std::ios::binary);
    changed.seekp(place);
    changed.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(JournalTest, WhoeverOpensItNextFindsAllOfAJob) {
  {
    Journal journal = open();
    EXPECT_EQ(journal.last(), 0);
    NewJob full = job("full", 7);
    full.key = "customer";
    full.priority = -5;
    full.turn = 4'000'000'000;
    full.event = R"({"text":"f\u00fcnf"})";
    ASSERT_TRUE(journal.add(41, std::vector{full, job("plain")}, Durability::written));
  }
  const Journal journal = open();
  EXPECT_EQ(journal.last(), 42);
  std::vector<Journal::Noted> all;
  journal.for_each([&](const Journal::Noted& noted) { all.push_back(noted); });
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].seq, 41);
  EXPECT_EQ(all[0].pool, 7);
  EXPECT_EQ(all[0].id, "full");
  EXPECT_EQ(all[0].key, "customer");
  EXPECT_EQ(all[0].priority, -5);
  EXPECT_EQ(all[0].turn, 4'000'000'000);
  EXPECT_EQ(all[0].enqueued_at, at(1));
  EXPECT_EQ(all[0].run_at, at(2));
  EXPECT_EQ(all[0].event, R"({"text":"f\u00fcnf"})");
  EXPECT_EQ(all[1].seq, 42);
  EXPECT_EQ(all[1].id, "plain");
  EXPECT_EQ(all[1].key, std::nullopt);
}

TEST_F(JournalTest, WhatWasClearedIsGone) {
  Journal journal = open();
  ASSERT_TRUE(journal.add(1, std::vector{job("a"), job("b")}, Durability::written));
  journal.clear();
  EXPECT_EQ(journal.last(), 0);
  EXPECT_EQ(ids_in(journal), Ids());
  EXPECT_TRUE(journal.add(3, std::vector{job("a")}, Durability::written));
  EXPECT_EQ(ids_in(open()), Ids({"3 a"}));
}

TEST_F(JournalTest, WhatHasNoRoomIsNotAdded) {
  Journal journal = open();
  NewJob large = job("large");
  large.event.assign(70'000, 'x');
  EXPECT_FALSE(journal.add(1, std::vector{large}, Durability::written))
      << "larger than what is worth it";
  JobSeq count = 0;
  for (; count < 10'000; ++count) {
    NewJob each = job(std::to_string(count));
    each.event.assign(1000, 'x');
    if (!journal.add(count + 1, std::vector{each}, Durability::written)) break;
  }
  EXPECT_GT(count, 900);
  EXPECT_LT(count, 1100) << "of a kilobyte each, in a megabyte";
  EXPECT_EQ(ids_in(journal).size(), static_cast<std::size_t>(count));
  journal.clear();
  EXPECT_TRUE(journal.add(count + 1, std::vector{job("next")}, Durability::written));
}

TEST_F(JournalTest, ADeadProcessLeavesWhatItHasAdded) {
  const pid_t child = fork();
  if (child == 0) {
    Journal journal = open();
    if (!journal.add(1, std::vector{job("a")}, Durability::written)) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(ids_in(open()), Ids({"1 a"}));
}

// As after a loss of power, when some pages are of another time.
TEST_F(JournalTest, ABatchThatIsNotWholeEndsIt) {
  const auto add_three = [this] {
    Journal journal = open();
    journal.clear();
    for (int i = 1; i <= 3; ++i) {
      NewJob each = job("job " + std::to_string(i));
      each.event.assign(1000, 'x');
      ASSERT_TRUE(journal.add(i, std::vector{each}, Durability::written));
    }
  };
  const std::vector<std::string> spoils{"y", std::string(4096, '\0'), std::string(4096, '\xff')};
  for (const std::string& spoil : spoils) {
    add_three();
    overwrite(1500, spoil);  // in the second
    EXPECT_EQ(ids_in(open()), Ids({"1 job 1"}));
  }
}

// Batches of the same length stand where those before the last clear() stood.
TEST_F(JournalTest, WhatWasThereBeforeItWasClearedDoesNotComeBack) {
  {
    Journal journal = open();
    for (int i = 1; i <= 3; ++i) {
      ASSERT_TRUE(journal.add(i, std::vector{job(std::to_string(i))}, Durability::synced));
    }
    journal.clear();
    ASSERT_TRUE(journal.add(1, std::vector{job("4")}, Durability::synced));
  }
  EXPECT_EQ(ids_in(open()), Ids({"1 4"})) << "though the numbers of those behind it are higher";
}

TEST_F(JournalTest, WhatIsToSurviveThePowerIsToBeSyncedOnce) {
  int syncs = 0;
  bool is_good = true;
  Journal journal(path(), file(), {.bytes = 8192, .sync = [&](const std::string& synced) {
                                     EXPECT_EQ(synced, file());
                                     ++syncs;
                                     return is_good;
                                   }});
  EXPECT_EQ(syncs, 1) << "the new file itself";
  ASSERT_TRUE(journal.add(1, std::vector{job("a")}, Durability::written));
  EXPECT_FALSE(journal.has_synced());
  ASSERT_TRUE(journal.add(2, std::vector{job("b")}, Durability::synced));
  EXPECT_TRUE(journal.has_synced());
  EXPECT_TRUE(journal.take_unsynced());
  EXPECT_FALSE(journal.take_unsynced());
  EXPECT_TRUE(journal.sync());
  is_good = false;
  EXPECT_FALSE(journal.sync());
  EXPECT_EQ(syncs, 3);
  journal.clear();
  EXPECT_FALSE(journal.has_synced());
}

TEST_F(JournalTest, ANewFileThatCannotBeSyncedIsRefused) {
  const auto fail = [](const std::string& /*path*/) { return false; };
  EXPECT_THROW(Journal(path(), file(), {.sync = fail}), StoreFailure);
}

class JournalPairTest : public JournalTest {
 protected:
  static constexpr std::size_t kBytes = 4096;

  [[nodiscard]] JournalPair open_pair() const { return {path(), {.bytes = kBytes}}; }

  // About three of them fill a journal.
  static bool add(JournalPair& pair, JobSeq seq, Durability durability = Durability::synced) {
    NewJob each = job(std::to_string(seq));
    each.event.assign(1100, 'x');
    return pair.add(seq, std::vector{each}, durability);
  }

  static std::vector<JobSeq> seqs_in(const JournalPair& pair) {
    std::vector<JobSeq> seqs;
    pair.for_each([&](const Journal::Noted& noted) { seqs.push_back(noted.seq); });
    return seqs;
  }
};

using Seqs = std::vector<JobSeq>;

TEST_F(JournalPairTest, ASecondOneIsFilledWhenTheFirstIsFullAndThenThereIsNoRoom) {
  JournalPair pair = open_pair();
  for (JobSeq seq = 1; seq <= 3; ++seq) ASSERT_TRUE(add(pair, seq));
  EXPECT_EQ(pair.full(), nullptr);
  for (JobSeq seq = 4; seq <= 6; ++seq) ASSERT_TRUE(add(pair, seq));
  ASSERT_NE(pair.full(), nullptr);
  EXPECT_EQ(pair.full()->last(), 3);
  EXPECT_FALSE(add(pair, 7));
  EXPECT_EQ(pair.last(), 6);
  EXPECT_EQ(seqs_in(pair), Seqs({1, 2, 3, 4, 5, 6}));
  pair.clear({.written = 6, .synced = 3});
  EXPECT_EQ(pair.full(), nullptr);
  EXPECT_TRUE(add(pair, 7));
  EXPECT_EQ(seqs_in(pair), Seqs({4, 5, 6, 7}));
}

TEST_F(JournalPairTest, WhoeverOpensThemNextGoesOnWithTheNewerOne) {
  {
    JournalPair pair = open_pair();
    for (JobSeq seq = 1; seq <= 4; ++seq) ASSERT_TRUE(add(pair, seq));
  }
  {
    JournalPair pair = open_pair();
    EXPECT_EQ(seqs_in(pair), Seqs({1, 2, 3, 4}));
    pair.clear({.written = 3, .synced = 3});
    for (JobSeq seq = 5; seq <= 7; ++seq) ASSERT_TRUE(add(pair, seq));
  }
  JournalPair pair = open_pair();
  EXPECT_EQ(seqs_in(pair), Seqs({4, 5, 6, 7}));
  ASSERT_NE(pair.full(), nullptr);
  EXPECT_EQ(pair.full()->last(), 6);
  EXPECT_TRUE(add(pair, 8));
}

TEST_F(JournalPairTest, ASyncIsForAllThatWasAddedBefore) {
  JournalPair pair = open_pair();
  for (JobSeq seq = 1; seq <= 3; ++seq) ASSERT_TRUE(add(pair, seq, Durability::written));
  ASSERT_TRUE(add(pair, 4, Durability::synced));
  EXPECT_EQ(pair.take_unsynced(), (JournalPair::Unsynced{true, true}));
  EXPECT_EQ(pair.take_unsynced(), (JournalPair::Unsynced{false, false}));
}

TEST_F(JournalPairTest, WhatIsToSurviveThePowerIsKeptUntilTheDatabaseDoes) {
  JournalPair pair = open_pair();
  ASSERT_TRUE(add(pair, 1, Durability::written));
  pair.clear({.written = 1});
  EXPECT_EQ(pair.last(), 0);
  ASSERT_TRUE(add(pair, 2, Durability::synced));
  ASSERT_TRUE(add(pair, 3, Durability::written));
  pair.clear({.written = 3, .synced = 2});
  EXPECT_EQ(pair.last(), 3);
  EXPECT_EQ(pair.take_unsynced(), (JournalPair::Unsynced{true, false}));
  pair.clear({.written = 3, .synced = 3});
  EXPECT_EQ(pair.last(), 0);
}

TEST_F(JournalTest, AFileOfSomebodyElseIsRefusedAndNotChanged) {
  std::ofstream(file()) << "a diary";
  try {
    const Journal journal = open();
    FAIL();
  } catch (const StoreFailure& failure) {
    const std::string message = failure.what();
    EXPECT_NE(message.find(file()), std::string::npos) << message;
    EXPECT_NE(message.find("another program"), std::string::npos) << message;
  }
  std::ifstream diary(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(diary), {}), "a diary");
}

TEST_F(JournalTest, AFolderThatIsNotThereIsNamed) {
  try {
    const std::string store = folder_.file("none/jobs.db");
    const Journal journal(store, store + "-written1", {});
    FAIL();
  } catch (const StoreFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("none/jobs.db-written1"), std::string::npos)
        << failure.what();
  }
}

}  // namespace
}  // namespace muster
