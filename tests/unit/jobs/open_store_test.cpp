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

}  // namespace
}  // namespace muster
