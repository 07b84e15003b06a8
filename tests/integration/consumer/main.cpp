// main.cpp: the smallest program a user could write; it must build with public headers alone.
#include <cstdio>
#include <cstring>

#include <muster/error.hpp>
#include <muster/thread_pool.hpp>
#include <muster/version.hpp>

int main() {
  muster::ThreadPool pool({.workers = 2});
  if (pool.submit([] { return 6; }).then([](int six) { return six * 7; }).get() != 42) return 1;
  // join() is inline, and needs a thread-local variable that the library must export.
  const auto [a, b] = pool.run([] { return muster::join([] { return 1; }, [] { return 2; }); });
  if (a + b != 3) return 1;

  // An exception must cross the library's border with its type, also when the library is shared.
  try {
    const muster::ThreadPool impossible({.workers = 5000});
    return 1;
  } catch (const muster::InvalidArgument& error) {
    if (std::strlen(error.what()) == 0) return 1;
  }

  std::printf("consumer of muster %s works\n", MUSTER_VERSION);
  return 0;
}
