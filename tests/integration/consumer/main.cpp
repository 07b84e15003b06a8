// main.cpp: the smallest program a user could write; it must build with public headers alone.
#include <cstdio>
#include <cstring>
#include <optional>

#include <muster/error.hpp>
#include <muster/queues/bounded_queue.hpp>
#include <muster/version.hpp>

int main() {
  muster::BoundedQueue<int> queue(8);
  if (!queue.try_push(1)) return 1;
  const std::optional<int> item = queue.try_pop();
  if (item != 1 || queue.try_pop()) return 1;

  // An exception must cross the library's border with its type, also when the library is shared.
  try {
    muster::BoundedQueue<int> impossible(3);
    return 1;
  } catch (const muster::InvalidArgument& error) {
    if (std::strlen(error.what()) == 0) return 1;
  }

  std::printf("consumer of muster %s works\n", MUSTER_VERSION);
  return 0;
}
