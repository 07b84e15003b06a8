// failing_news.cpp: aligned operators new that fail to order.
#include "support/failing_news.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
int to_fail = 0;
}

void muster::testing::fail_aligned_news(int count) noexcept {
  to_fail = count;
}

void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  if (to_fail > 0) {
    --to_fail;
    return nullptr;
  }
  const auto step = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(step, (size + step - 1) / step * step);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* const memory = operator new(size, alignment, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
