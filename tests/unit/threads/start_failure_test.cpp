// start_failure_test.cpp: the system has no more threads; a pool says so and goes on with those it
// has. In a child of this process, which has little memory left for their stacks. Not built for a
// sanitizer: these map more than any limit allows.
#include <fstream>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <muster/thread_pool.hpp>

namespace muster {
namespace {

// While it lives, room for a stack or some, and not for sixteen.
class FewThreads {
 public:
  FewThreads() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    const rlim_t now = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const rlimit few{.rlim_cur = now + (rlim_t{12} << 20U), .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_AS, &few);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  ~FewThreads() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

// In a child: 0, or which of its claims does not hold.
int first_wrong_in_child(const std::function<int()>& in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(in_child());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class F>
bool says_that_it_cannot_start(const F& f) {
  try {
    f();
    return false;
  } catch (const SystemFailure& error) {
    return std::string(error.what()).find("start worker") != std::string::npos;
  }
}

TEST(StartFailure, AResizedPoolHasAsManyWorkersAsCouldBeHad) {
  EXPECT_EQ(0, first_wrong_in_child([] {
              ThreadPool pool({.workers = 1, .max_workers = 16});
              {
                const FewThreads few;
                if (!says_that_it_cannot_start([&] { pool.resize(16); })) return 1;
              }
              const unsigned had = pool.worker_count();
              if (had == 0 || had >= 16) return 2;
              if (pool.run([] { return 7; }) != 7) return 3;
              pool.resize(16);
              return pool.stats().total_workers == 16 ? 0 : 4;
            }));
}

TEST(StartFailure, KeysAreDividedAmongThoseThatALazyPoolCouldStart) {
  EXPECT_EQ(0, first_wrong_in_child([] {
              ThreadPool pool({.workers = 16, .start = Start::lazy});
              pool.run([] {});
              const FewThreads few;
              const auto post_keyed = [&] { pool.submit({.affinity = "key"}, [] {}).get(); };
              if (!says_that_it_cannot_start(post_keyed)) return 1;
              if (pool.worker_count() >= 16) return 2;
              post_keyed();
              return 0;
            }));
}

TEST(StartFailure, APoolThatCannotStartIsNotMade) {
  EXPECT_EQ(0, first_wrong_in_child([] {
              const FewThreads few;
              return says_that_it_cannot_start([] { ThreadPool({.workers = 16}); }) ? 0 : 1;
            }));
}

}  // namespace
}  // namespace muster
