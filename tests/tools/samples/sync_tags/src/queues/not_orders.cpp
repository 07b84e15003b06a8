// not_orders.cpp: words that look like orders and are none.
#include <memory>

using muster::release;
using std::memory_order_acquire;
enum class Step { acquire, release, relaxed };

struct Slot {
  void acquire();
  void release() { count_ -= 1; }
  bool relaxed;
  int count_;
};

void no_orders(std::unique_ptr<int> ptr, Slot& slot, Slot* other) {
  ptr.release();
  slot.release();
  other->acquire();
  take(ptr.release(), 2);
  bind(&Slot::release, Step::acquire);
  const Slot copy{.relaxed = slot.relaxed};
  const auto [acquire, release] = pair_of(slot);
  print("flag.store(1, release)");
  print(R"(flag.load(std::memory_order_acquire))");
  /* flag.load(acquire) */  // flag.load(relaxed)
  semaphore_release(slot);
}

void full_fence() noexcept;
int fsync(int);  // fsync(file) is no tag
