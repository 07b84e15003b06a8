// allocation_count.cpp: an operator new that counts.
#include "support/allocation_count.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local std::uint64_t allocations = 0;
constinit thread_local std::uint64_t bytes_in_all = 0;

void* counted(void* memory, std::size_t bytes) {
  if (memory == nullptr) throw std::bad_alloc();
  ++allocations;
  bytes_in_all += bytes;
  return memory;
}

}  // namespace

std::uint64_t muster::testing::allocation_count() noexcept {
  return allocations;
}

std::uint64_t muster::testing::allocated_bytes() noexcept {
  return bytes_in_all;
}

void* operator new(std::size_t bytes) {
  return counted(std::malloc(bytes == 0 ? 1 : bytes), bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (bytes + align - 1) / align * align), bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
