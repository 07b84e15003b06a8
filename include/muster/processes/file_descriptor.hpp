// file_descriptor.hpp: a file descriptor that closes itself.
//
// Thread safety: like an int; one thread at a time.
#pragma once

#include <unistd.h>
#include <utility>

namespace muster {

class FileDescriptor {
 public:
  FileDescriptor() = default;

  // Takes over `number`, which may be -1: none.
  explicit FileDescriptor(int number) noexcept : number_(number) {}

  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = other.release();
    }
    return *this;
  }
  ~FileDescriptor() { reset(); }

  // -1: none.
  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

  void reset() noexcept {
    // EINTR and all else leave it closed on Linux, so there is nothing to repeat.
    if (number_ >= 0) (void)::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace muster
