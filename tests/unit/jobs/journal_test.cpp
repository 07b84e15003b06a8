// journal_test.cpp: what was added is there, for whoever opens the file next, and nothing else.
#include "jobs/stores/sqlite/journal.hpp"

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/jobs/job_error.hpp>

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
  [[nodiscard]] std::string file() const { return path() + "-written"; }

  void overwrite(std::streamoff place, const std::string& bytes) const {
    std::fstream changed(file(), std::ios::in | std::ios::out | std::ios::binary);
    changed.seekp(place);
    changed.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(JournalTest, WhoeverOpensItNextFindsAllOfAJob) {
  {
    Journal journal(path());
    EXPECT_TRUE(journal.is_empty());
    NewJob full = job("full", 7);
    full.key = "customer";
    full.priority = -5;
    full.turn = 4'000'000'000;
    full.event = R"({"text":"f\u00fcnf"})";
    ASSERT_TRUE(journal.add(41, std::vector{full, job("plain")}));
  }
  const Journal journal(path());
  EXPECT_FALSE(journal.is_empty());
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
  Journal journal(path());
  ASSERT_TRUE(journal.add(1, std::vector{job("a"), job("b")}));
  journal.clear();
  EXPECT_TRUE(journal.is_empty());
  EXPECT_EQ(ids_in(journal), Ids());
  EXPECT_TRUE(journal.add(3, std::vector{job("a")}));
  EXPECT_EQ(ids_in(Journal(path())), Ids({"3 a"}));
}

TEST_F(JournalTest, WhatHasNoRoomIsNotAdded) {
  Journal journal(path());
  NewJob large = job("large");
  large.event.assign(70'000, 'x');
  EXPECT_FALSE(journal.add(1, std::vector{large})) << "larger than what is worth it";
  JobSeq count = 0;
  for (; count < 10'000; ++count) {
    NewJob each = job(std::to_string(count));
    each.event.assign(1000, 'x');
    if (!journal.add(count + 1, std::vector{each})) break;
  }
  EXPECT_GT(count, 900);
  EXPECT_LT(count, 1100) << "of a kilobyte each, in a megabyte";
  EXPECT_EQ(ids_in(journal).size(), static_cast<std::size_t>(count));
  journal.clear();
  EXPECT_TRUE(journal.add(count + 1, std::vector{job("next")}));
}

TEST_F(JournalTest, ADeadProcessLeavesWhatItHasAdded) {
  const pid_t child = fork();
  if (child == 0) {
    Journal journal(path());
    if (!journal.add(1, std::vector{job("a")})) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(ids_in(Journal(path())), Ids({"1 a"}));
}

// As after a loss of power, when some pages are of another time.
TEST_F(JournalTest, ABatchThatIsNotWholeEndsIt) {
  const auto add_three = [this] {
    Journal journal(path());
    journal.clear();
    for (int i = 1; i <= 3; ++i) {
      NewJob each = job("job " + std::to_string(i));
      each.event.assign(1000, 'x');
      ASSERT_TRUE(journal.add(i, std::vector{each}));
    }
  };
  const std::vector<std::string> spoils{"y", std::string(4096, '\0'), std::string(4096, '\xff')};
  for (const std::string& spoil : spoils) {
    add_three();
    overwrite(1500, spoil);  // in the second
    EXPECT_EQ(ids_in(Journal(path())), Ids({"1 job 1"}));
  }
  add_three();
  overwrite(8, std::string(8, '\x7f'));  // how much there is
  EXPECT_EQ(ids_in(Journal(path())), Ids({"1 job 1", "2 job 2", "3 job 3"}));
}

TEST_F(JournalTest, AFileOfSomebodyElseIsRefusedAndNotChanged) {
  std::ofstream(file()) << "a diary";
  try {
    const Journal journal(path());
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
    const Journal journal(folder_.file("none/jobs.db"));
    FAIL();
  } catch (const StoreFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("none/jobs.db-written"), std::string::npos)
        << failure.what();
  }
}

}  // namespace
}  // namespace muster
