// power_loss_vfs_test.cpp: the disk that loses power loses what it may, and nothing else.
//
// First what becomes of single files, then SQLite on top: the power is cut at every operation of a
// small workload, and what each model of loss leaves must keep what SQLite's manual promises for
// that journal and those syncs. Where it promises less, or the disk ignores syncs, some loss has to
// show: a check that cannot fail proves nothing.
#include "support/power_loss_vfs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sqlite3.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace muster::testing {
namespace {

const std::vector kAllModels = {LossModel::drop_all, LossModel::keep_all, LossModel::random_subset,
                                LossModel::torn_sectors, LossModel::garbage_sectors};

class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "power-loss-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// A file as SQLite's pager sees it.
class RawFile {
 public:
  RawFile(const PowerLossVfs& vfs, const std::string& path, int kind)
      : path_(path + std::string(2, '\0')),  // SQLite's names end with an empty list of parameters
        vfs_(sqlite3_vfs_find(vfs.name().c_str())),
        memory_(new char[static_cast<std::size_t>(vfs_->szOsFile)]),
        file_(reinterpret_cast<sqlite3_file*>(memory_.get())) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | kind;
    EXPECT_EQ(vfs_->xOpen(vfs_, path_.c_str(), file_, flags, nullptr), SQLITE_OK);
  }
  ~RawFile() { file_->pMethods->xClose(file_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  int write(const std::string& bytes, sqlite3_int64 at) {
    return file_->pMethods->xWrite(file_, bytes.data(), static_cast<int>(bytes.size()), at);
  }
  int truncate(sqlite3_int64 size) { return file_->pMethods->xTruncate(file_, size); }
  int sync() { return file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL); }
  int read() {
    char byte = 0;
    return file_->pMethods->xRead(file_, &byte, 1, 0);
  }

 private:
  const std::string path_;
  sqlite3_vfs* const vfs_;
  const std::unique_ptr<char[]> memory_;
  sqlite3_file* const file_;
};

int delete_file(const PowerLossVfs& vfs, const std::string& path, int syncs_folder) {
  sqlite3_vfs* const raw = sqlite3_vfs_find(vfs.name().c_str());
  return raw->xDelete(raw, path.c_str(), syncs_folder);
}

const std::string kNoFile = "there is no file";

std::string contents(const std::string& path) {
  if (!std::filesystem::exists(path)) return kNoFile;
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// One disk with one file on it, and what can be left of that.
struct PowerLossVfsTest : ::testing::Test {
  std::string left(LossModel model, std::uint64_t seed = 0) {
    Random random(seed);
    vfs.restore_after_power_loss(random, folder.path(), model);
    return contents(path);
  }
  std::set<std::string> all_left(LossModel model) {
    std::set<std::string> all;
    for (std::uint64_t seed = 0; seed < 200; ++seed) all.insert(left(model, seed));
    return all;
  }
  // Named in a folder that was synced.
  void make_durable(const std::string& bytes) {
    RawFile file(vfs, path, SQLITE_OPEN_WAL);
    file.write(bytes, 0);
    file.sync();
  }

  TestFolder folder;
  std::string path = folder.file("raw.file");  // SQLite looks for the database of "a-wal"
  PowerLossVfs vfs;
};

TEST_F(PowerLossVfsTest, WhatWasSyncedIsLeftByEveryModel) {
  make_durable("durable");
  for (const LossModel model : kAllModels) EXPECT_EQ(left(model), "durable");
}

TEST_F(PowerLossVfsTest, WhatWasThereBeforeIsDurable) {
  std::ofstream(path) << "old";
  RawFile(vfs, path, SQLITE_OPEN_MAIN_DB).write("new", 0);
  EXPECT_EQ(left(LossModel::drop_all), "old");
  EXPECT_EQ(left(LossModel::keep_all), "new");
}

TEST_F(PowerLossVfsTest, SectorsLandIndependentlyOfEachOther) {
  make_durable(std::string(1024, 'a'));
  RawFile(vfs, path, SQLITE_OPEN_WAL).write(std::string(200, 'b'), 412);  // in two sectors
  RawFile(vfs, path, SQLITE_OPEN_WAL).write("c", 600);
  std::set<std::string> seen;
  for (const std::string& bytes : all_left(LossModel::random_subset)) {
    seen.insert({bytes.at(511), bytes.at(512), bytes.at(600)});
  }
  // Of one sector, the second write only after the first.
  EXPECT_EQ(seen, (std::set<std::string>{"aaa", "abb", "abc", "baa", "bbb", "bbc"}));
}

TEST_F(PowerLossVfsTest, ATornSectorHasTheFirstBytesOnly) {
  make_durable("aaaa");
  RawFile(vfs, path, SQLITE_OPEN_WAL).write("bbbb", 0);
  const auto all = all_left(LossModel::torn_sectors);
  EXPECT_EQ(all, (std::set<std::string>{"aaaa", "baaa", "bbaa", "bbba", "bbbb"}));
}

TEST_F(PowerLossVfsTest, GarbageStaysWhereSomethingWasWritten) {
  make_durable("aaaaaaaaaa");
  RawFile(vfs, path, SQLITE_OPEN_WAL).write("bbbb", 3);
  const auto all = all_left(LossModel::garbage_sectors);
  EXPECT_GT(all.size(), 20u);
  for (const std::string& bytes : all) {
    EXPECT_EQ(bytes.substr(0, 3) + bytes.substr(7), "aaaaaa");
  }
}

TEST_F(PowerLossVfsTest, AFileMayHaveGrownWithoutItsContents) {
  make_durable("");
  RawFile(vfs, path, SQLITE_OPEN_WAL).write("bb", 0);
  const auto all = all_left(LossModel::random_subset);
  EXPECT_EQ(all, (std::set<std::string>{"", std::string(2, '\0'), "bb"}));
}

TEST_F(PowerLossVfsTest, ATruncationMayNotHaveHappened) {
  make_durable("aaaa");
  RawFile(vfs, path, SQLITE_OPEN_WAL).truncate(1);
  EXPECT_EQ(all_left(LossModel::random_subset), (std::set<std::string>{"a", "aaaa"}));
  EXPECT_EQ(left(LossModel::drop_all), "aaaa");
  EXPECT_EQ(left(LossModel::keep_all), "a");
}

TEST_F(PowerLossVfsTest, ACreationLastsOnceItsFolderIsSynced) {
  RawFile(vfs, path, SQLITE_OPEN_MAIN_DB).sync();  // syncs no folder, on Unix
  EXPECT_EQ(left(LossModel::drop_all), kNoFile);
  EXPECT_EQ(left(LossModel::keep_all), "");
  EXPECT_EQ(all_left(LossModel::random_subset).size(), 2u);

  left(LossModel::drop_all);
  RawFile(vfs, path, SQLITE_OPEN_MAIN_DB).sync();
  RawFile(vfs, path + "-wal", SQLITE_OPEN_WAL).sync();
  EXPECT_EQ(left(LossModel::drop_all), "");
}

TEST_F(PowerLossVfsTest, ADeletedFileComesBackUnlessItsFolderIsSynced) {
  make_durable("durable");
  EXPECT_EQ(delete_file(vfs, path, 0), SQLITE_OK);
  RawFile(vfs, path, SQLITE_OPEN_MAIN_DB).write("new", 0);
  EXPECT_EQ(left(LossModel::drop_all), "durable");
  EXPECT_EQ(left(LossModel::keep_all), "new");
  EXPECT_TRUE(all_left(LossModel::random_subset).contains(kNoFile));

  EXPECT_EQ(delete_file(vfs, path, 1), SQLITE_OK);
  for (const LossModel model : kAllModels) EXPECT_EQ(left(model), kNoFile);
}

TEST_F(PowerLossVfsTest, WithoutPowerEverythingFails) {
  make_durable("a");
  {
    RawFile file(vfs, path, SQLITE_OPEN_WAL);
    vfs.cut_at_operation(2);
    EXPECT_EQ(file.write("b", 0), SQLITE_OK);
    EXPECT_EQ(file.sync(), SQLITE_IOERR);
    EXPECT_TRUE(vfs.power_is_off());
    EXPECT_EQ(file.write("c", 0), SQLITE_IOERR);
    EXPECT_EQ(file.truncate(0), SQLITE_IOERR);
    EXPECT_EQ(file.read(), SQLITE_IOERR);
    EXPECT_EQ(delete_file(vfs, path, 1), SQLITE_IOERR);
  }
  EXPECT_EQ(left(LossModel::drop_all), "a");
  EXPECT_EQ(left(LossModel::keep_all), "b");
  EXPECT_FALSE(vfs.power_is_off());
}

TEST_F(PowerLossVfsTest, ThePowerGoesAfterASyncThatSucceeded) {
  vfs.cut_power_after({.number = 1});
  make_durable("durable");
  EXPECT_TRUE(vfs.power_is_off());
  EXPECT_EQ(left(LossModel::drop_all), "durable");
}

TEST_F(PowerLossVfsTest, FiguresCountWhatTheDiskWasAsked) {
  make_durable("durable");
  RawFile(vfs, path, SQLITE_OPEN_MAIN_DB).truncate(0);
  delete_file(vfs, path, 1);
  const PowerLossFigures figures = vfs.figures();
  EXPECT_EQ(figures.writes, 1u);
  EXPECT_EQ(figures.bytes_written, 7u);
  EXPECT_EQ(figures.truncations, 1u);
  EXPECT_EQ(figures.syncs, 1u);
  EXPECT_EQ(figures.deletions, 1u);
  EXPECT_EQ(figures.folder_syncs, 2u);
  EXPECT_EQ(figures.operations, 4u);
}

class Connection {
 public:
  Connection(const std::string& path, const PowerLossVfs& vfs) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    code_ = sqlite3_open_v2(path.c_str(), &db_, flags, vfs.name().c_str());
    sqlite3_busy_timeout(db_, 10'000);
  }
  ~Connection() { EXPECT_EQ(sqlite3_close(db_), SQLITE_OK); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool run(const std::string& sql) {
    if (code_ == SQLITE_OK) code_ = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    return code_ == SQLITE_OK;
  }

  // Closing takes a while otherwise, which matters when there are thousands to look at.
  void leave_wal() { sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

  // The first column of the first row; what went wrong instead, if something did.
  std::string ask(const std::string& sql) {
    sqlite3_stmt* query = nullptr;
    std::string answer;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &query, nullptr) == SQLITE_OK &&
        sqlite3_step(query) == SQLITE_ROW) {
      answer = reinterpret_cast<const char*>(sqlite3_column_text(query, 0));
    } else {
      answer = sqlite3_errmsg(db_);
    }
    sqlite3_finalize(query);
    return answer;
  }

 private:
  sqlite3* db_ = nullptr;
  int code_ = SQLITE_OK;
};

struct Workload {
  std::string pragmas;
  int rows_each = 10;  // before and behind a checkpoint
};

const std::string kFiller = "printf('%d %.*c', id, 300, 'x')";
const std::string kInsertNext =
    "INSERT INTO t SELECT id, " + kFiller + " FROM (SELECT 1 + count(*) AS id FROM t)";

// One for the table and one for each row. Stops where one fails; the next one is then in doubt.
int commits_acknowledged(const Workload& workload, const std::string& path,
                         const PowerLossVfs& vfs) {
  Connection connection(path, vfs);
  if (!connection.run(workload.pragmas)) return 0;
  if (!connection.run("CREATE TABLE t (id INTEGER PRIMARY KEY, filler TEXT UNIQUE)")) return 0;
  int commits = 1;
  for (; commits <= 2 * workload.rows_each && connection.run(kInsertNext); ++commits) {
    if (commits == workload.rows_each) connection.run("PRAGMA wal_checkpoint(FULL)");
  }
  return commits;
}

// Nothing if there is damage.
std::optional<int> commits_found(const std::string& path) {
  const PowerLossVfs vfs({.name = "never-fails"});  // and does not wait for real syncs
  Connection connection(path, vfs);
  connection.leave_wal();
  if (connection.ask("PRAGMA integrity_check") != "ok") return std::nullopt;
  const std::string tables = connection.ask("SELECT count(*) FROM sqlite_schema WHERE name = 't'");
  if (tables == "0") return 0;
  const std::string rows = connection.ask("SELECT count(*) FROM t");
  const std::string as_written = connection.ask("SELECT count(*) FROM t WHERE filler = " + kFiller +
                                                " AND id BETWEEN 1 AND " + rows);
  if (tables != "1" || as_written != rows) return std::nullopt;
  return 1 + std::stoi(rows);
}

struct Tally {
  std::uint64_t cuts = 0;
  int damaged = 0;
  int most_lost = 0;  // commits that had been acknowledged
  std::string first;  // how to get the first of either

  void add(int acknowledged, std::optional<int> found, const std::string& how) {
    const int lost = found ? std::max(0, acknowledged - *found) : 0;
    if (first.empty() && (!found || lost > 0)) first = how;
    if (!found) ++damaged;
    most_lost = std::max(most_lost, lost);
  }
  [[nodiscard]] bool several_lost() const { return most_lost > 1; }
  [[nodiscard]] bool any_damaged() const { return damaged > 0; }
  [[nodiscard]] bool any_wrong() const { return damaged > 0 || most_lost > 0; }
};

struct Sweep {
  Workload workload;
  std::vector<LossModel> models = kAllModels;
  std::uint64_t seeds = 3;
  Syncs syncs = Syncs::honoured;
  std::function<bool(const Tally&)> enough = [](const Tally&) { return false; };
};

std::string description(std::uint64_t cut, LossModel model, std::uint64_t seed) {
  return "cut at operation " + std::to_string(cut) + ", model " +
         std::to_string(static_cast<int>(model)) + ", seed " + std::to_string(seed);
}

// Restores what is left by every model, and counts what is wrong with it.
void count_losses(PowerLossVfs& vfs, const TestFolder& folder, const Sweep& sweep, int acknowledged,
                  Tally& tally) {
  for (const LossModel model : sweep.models) {
    const bool chooses = model != LossModel::drop_all && model != LossModel::keep_all;
    for (std::uint64_t i = 0; i < (chooses ? sweep.seeds : 1); ++i) {
      const std::uint64_t seed = i + sweep.seeds * tally.cuts;
      Random random(seed);
      vfs.restore_after_power_loss(random, folder.path(), model);
      tally.add(acknowledged, commits_found(folder.file("test.db")),
                description(tally.cuts, model, seed));
    }
  }
}

// Cuts the power at every operation, until none is left, closing the database among them.
Tally cut_everywhere(const Sweep& sweep) {
  Tally tally;
  for (bool finished = false; !finished && !sweep.enough(tally);) {
    const TestFolder folder;
    PowerLossVfs vfs({.syncs = sweep.syncs});
    vfs.cut_at_operation(++tally.cuts);
    const int acknowledged = commits_acknowledged(sweep.workload, folder.file("test.db"), vfs);
    finished = !vfs.power_is_off();
    count_losses(vfs, folder, sweep, acknowledged, tally);
  }
  return tally;
}

const Workload kWalFull{"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"};
const Workload kWalNormal{"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"};
const Workload kWalOff{"PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF"};
const Workload kDeleteFull{"PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL", 3};
const Workload kDeleteExtra{"PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA", 3};

TEST(PowerLoss, AWalWithFullSyncsKeepsEveryAcknowledgedCommit) {
  const Tally tally = cut_everywhere({.workload = kWalFull});
  EXPECT_GT(tally.cuts, 100u);
  EXPECT_FALSE(tally.any_wrong()) << tally.first;
}

TEST(PowerLoss, AWalWithNormalSyncsLosesCommitsButStaysWhole) {
  const Tally tally = cut_everywhere({.workload = kWalNormal, .seeds = 1});
  EXPECT_FALSE(tally.any_damaged()) << tally.first;
  const Tally dropped = cut_everywhere(
      {.workload = kWalNormal, .models = {LossModel::drop_all}, .enough = &Tally::several_lost});
  EXPECT_TRUE(dropped.several_lost());
}

TEST(PowerLoss, WithoutSyncsEvenAWalIsLostOrDamaged) {
  const Tally lost = cut_everywhere(
      {.workload = kWalOff, .models = {LossModel::drop_all}, .enough = &Tally::several_lost});
  EXPECT_TRUE(lost.several_lost());
  const Tally damaged = cut_everywhere(
      {.workload = kWalOff, .models = {LossModel::random_subset}, .enough = &Tally::any_damaged});
  EXPECT_TRUE(damaged.any_damaged());
}

TEST(PowerLoss, AJournalWithExtraSyncsKeepsEveryAcknowledgedCommit) {
  const Tally tally = cut_everywhere({.workload = kDeleteExtra});
  EXPECT_GT(tally.cuts, 50u);
  EXPECT_FALSE(tally.any_wrong()) << tally.first;
}

// With FULL, SQLite does not sync the folder once it has deleted the journal: if that comes back,
// the commit is rolled back. EXTRA is there against just this.
TEST(PowerLoss, AJournalWithFullSyncsStaysWholeAndLosesAtMostTheLastCommit) {
  const Tally tally = cut_everywhere({.workload = kDeleteFull, .seeds = 2});
  EXPECT_FALSE(tally.any_damaged()) << tally.first;
  EXPECT_EQ(tally.most_lost, 1);
}

// What the first test asserts must fail then.
TEST(PowerLoss, ADiskThatIgnoresSyncsIsFoundOutByEveryModelThatDropsSomething) {
  for (const LossModel model : kAllModels) {
    const Tally tally = cut_everywhere({.workload = kWalFull,
                                        .models = {model},
                                        .syncs = Syncs::ignored,
                                        .enough = &Tally::any_wrong});
    EXPECT_EQ(tally.any_wrong(), model != LossModel::keep_all) << static_cast<int>(model);
  }
}

// The power is cut at `cut`, and then again at every operation that opening and closing the
// database takes. Returns how many those are.
std::uint64_t cut_recovery_everywhere(const Sweep& sweep, std::uint64_t cut, Tally& tally) {
  for (tally.cuts = 1;; ++tally.cuts) {
    const TestFolder folder;
    PowerLossVfs vfs;
    const std::string path = folder.file("test.db");
    vfs.cut_at_operation(cut);
    const int acknowledged = commits_acknowledged(sweep.workload, path, vfs);
    Random random(cut);
    vfs.restore_after_power_loss(random, folder.path(), LossModel::torn_sectors);

    vfs.cut_at_operation(tally.cuts);
    Connection(path, vfs).run("SELECT count(*) FROM sqlite_schema");
    if (!vfs.power_is_off()) return tally.cuts - 1;
    count_losses(vfs, folder, sweep, acknowledged, tally);
  }
}

TEST(PowerLoss, ASecondLossDuringRecoveryCostsNothing) {
  for (const Workload& workload : {kWalFull, kDeleteExtra}) {
    Tally tally;
    std::uint64_t operations = 0;
    for (std::uint64_t cut = 40; cut < 50; ++cut) {
      operations += cut_recovery_everywhere({.workload = workload, .seeds = 1}, cut, tally);
    }
    EXPECT_GT(operations, 20u);
    EXPECT_FALSE(tally.any_wrong()) << tally.first;
  }
}

TEST(PowerLoss, CommitsOfSeveralThreadsAreKept) {
  constexpr std::size_t kThreads = 3;
  for (std::uint64_t cut = 20; cut < 220; cut += 25) {
    const TestFolder folder;
    PowerLossVfs vfs;
    const std::string path = folder.file("test.db");
    Connection(path, vfs).run(kWalFull.pragmas +
                              "; CREATE TABLE t (thread, number, UNIQUE (thread, number))");
    vfs.cut_at_operation(cut);
    std::array<int, kThreads> acknowledged{};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Connection connection(path, vfs);
        connection.run("PRAGMA synchronous = FULL");
        const std::string insert = "INSERT INTO t VALUES (" + std::to_string(i) + ", ";
        while (connection.run(insert + std::to_string(acknowledged[i] + 1) + ")")) {
          ++acknowledged[i];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(vfs.power_is_off());
    for (const LossModel model : kAllModels) {
      Random random(cut);
      vfs.restore_after_power_loss(random, folder.path(), model);
      const PowerLossVfs lasting({.name = "never-fails"});
      Connection connection(path, lasting);
      connection.leave_wal();
      EXPECT_EQ(connection.ask("PRAGMA integrity_check"), "ok") << description(cut, model, cut);
      for (std::size_t i = 0; i < kThreads; ++i) {
        const std::string of_thread = " FROM t WHERE thread = " + std::to_string(i);
        const std::string count = connection.ask("SELECT count(*)" + of_thread);
        EXPECT_EQ(connection.ask("SELECT ifnull(max(number), 0)" + of_thread), count);
        EXPECT_GE(std::stoi(count), acknowledged[i]) << description(cut, model, cut);
      }
    }
  }
}

}  // namespace
}  // namespace muster::testing
