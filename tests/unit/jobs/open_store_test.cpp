// open_store_test.cpp: what is opened by a URL, and what is refused: a store that another has under
// another name, a place where nothing can be written.
#include "jobs/open_store.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "jobs/stores/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace muster {
namespace {

constexpr const char* kStore = "jobs.db";

// In words; empty: it was opened.
std::string refusal(const std::string& url) {
  try {
    (void)open_store(url, {});
  } catch (const StoreFailure& failure) {
    return failure.what();
  }
  return "";
}

bool says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

class OpenStoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file(kStore); }
  [[nodiscard]] std::string url() const { return "sqlite:" + path(); }

  testing::TemporaryFolder folder_;
};

TEST_F(OpenStoreTest, AStoreBelongsToOneUnderWhateverName) {
  const testing::TemporaryFolder elsewhere;
  const std::string link = elsewhere.file("link.db");
  const std::string folder_link = elsewhere.file("folder");
  std::filesystem::create_symlink(path(), link);
  std::filesystem::create_symlink(folder_.path(), folder_link);
  const std::string relative = std::filesystem::relative(path()).string();
  for (const std::string& first : {link, path()}) {  // which there is not, at first
    const std::unique_ptr<Store> store = open_store("sqlite:" + first, {});
    for (const std::string& name :
         {path(), link, folder_link + "/" + kStore, relative, folder_.file("./jobs.db")}) {
      EXPECT_TRUE(says(refusal("sqlite:" + name), "has it")) << first << " and " << name;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(link + "-owner"));
}

// It has no file to belong to anybody, and no log.
TEST_F(OpenStoreTest, ADatabaseInMemoryIsNoFile) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  try {
    (void)open_store("sqlite::memory:", {});
    ADD_FAILURE() << "was opened";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.bad_fields().front().field, "url");
    EXPECT_TRUE(says(error.what(), "\"memory:\"")) << error.what();
  }
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "nothing is left behind";
}

// As of some network file systems: it cannot share memory.
TEST_F(OpenStoreTest, AFileSystemWithoutAWriteAheadLogIsRefused) {
  try {
    const SqliteStore store({.path = path(), .vfs = "unix-dotfile"});
    FAIL() << "was opened";
  } catch (const StoreFailure& failure) {
    EXPECT_TRUE(says(failure.what(), "write-ahead log")) << failure.what();
    EXPECT_TRUE(says(failure.what(), "keep it on a local file system")) << failure.what();
  }
}

// What is written to by mapped memory must have its place, or a full disk ends the process.
TEST_F(OpenStoreTest, TheOwnerFileHasAllOfItsBlocks) {
  const std::unique_ptr<Store> store = open_store(url(), {});
  struct stat file{};
  ASSERT_EQ(stat((path() + "-owner").c_str(), &file), 0);
  EXPECT_GE(file.st_size, static_cast<off_t>(Store::kMostRunners * sizeof(JobSeq)));
  EXPECT_GE(file.st_blocks * 512, file.st_size);
}

TEST_F(OpenStoreTest, AnOwnerFileForWhichThereIsNoRoomIsAFailureOfTheStore) {
  constexpr rlim_t kRoom = 65'536;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = kRoom;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  std::string message;
  EXPECT_NO_THROW(message = refusal(url())) << "of another kind";
  (void)setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(says(message, "jobs.db-owner")) << message;
  EXPECT_TRUE(says(message, "free ")) << message;
}

TEST_F(OpenStoreTest, AFileInPlaceOfTheFolderIsNamed) {
  std::ofstream(path()) << "a file";
  const std::string message = refusal(url() + "/inner.db");
  EXPECT_TRUE(says(message, "jobs.db/inner.db")) << message;
  EXPECT_TRUE(says(message, "the folder must exist and be writable")) << message;
}

// What a process without rights to the files is told: root may do everything, and becomes nobody.
std::string refusal_to_others(const std::string& url) {
  constexpr uid_t kNobody = 65'534;
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return "no pipe";
  const pid_t process = fork();
  if (process == 0) {
    const bool is_other = getuid() != 0 || (setgid(kNobody) == 0 && setuid(kNobody) == 0);
    const std::string message = is_other ? refusal(url) : "still root";
    _exit(write(pipe_ends[1], message.data(), message.size()) < 0 ? 1 : 0);
  }
  close(pipe_ends[1]);
  std::string message(4096, '\0');
  const ssize_t count = read(pipe_ends[0], message.data(), message.size());
  close(pipe_ends[0]);
  waitpid(process, nullptr, 0);
  message.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return message;
}

TEST_F(OpenStoreTest, AFolderThatMayOnlyBeReadIsNamed) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  const std::string message = refusal_to_others(url());
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_TRUE(says(message, path())) << message;
  EXPECT_TRUE(says(message, "Permission denied")) << message;
  EXPECT_TRUE(says(message, "the folder must exist and be writable")) << message;
}

TEST_F(OpenStoreTest, ADatabaseThatMayOnlyBeReadIsNamed) {
  (void)open_store(url(), {});
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    ASSERT_EQ(chmod(file.path().c_str(), 0666), 0);
  }
  ASSERT_EQ(refusal_to_others(url()), "") << "they may";
  ASSERT_EQ(chmod(path().c_str(), 0444), 0);
  const std::string message = refusal_to_others(url());
  EXPECT_TRUE(says(message, path())) << message;
  EXPECT_TRUE(says(message, "it is read-only")) << message;
  EXPECT_TRUE(says(message, "let this process write to the file and its folder")) << message;
}

}  // namespace
}  // namespace muster
