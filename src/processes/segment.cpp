// segment.cpp: a memfd, reserved, sealed and mapped.
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include <muster/error.hpp>
#include <muster/processes/segment.hpp>

#include "base/text_scan.hpp"

namespace muster {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

[[noreturn]] void fail(const std::string& attempt, const char* advice) {
  throw SystemFailure(attempt, errno, advice);
}

// 0, or the error's number.
int allocate(int descriptor, const Segment::Part& part) {
  int error = 0;
  do {
    error = posix_fallocate(descriptor, static_cast<off_t>(part.offset),
                            static_cast<off_t>(part.bytes));
  } while (error == EINTR);
  return error;
}

}  // namespace

// To be asked before memory is reserved: the kernel would not refuse, it would hand out memory
// until it must kill somebody for it.
std::uint64_t spare_memory_bytes(const SystemFiles& files) {
  constexpr std::string_view kName = "MemAvailable:";
  const std::string text = files.read("/proc/meminfo").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(kName)) continue;
    const auto words = split(line.substr(kName.size()), ' ');
    const auto kib = words.empty() ? std::nullopt : parse_number<std::uint64_t>(words[0]);
    if (kib) return *kib * 1024;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

Segment Segment::create(const std::string& name, std::size_t bytes) {
  return create(name, {.bytes = bytes, .reserved_bytes = bytes});
}

Segment Segment::create(const std::string& name, const Size& size) {
  if (size.bytes == 0) throw InvalidArgument({"bytes", "0", "must be at least 1"});
  const std::string what =
      "shared memory \"" + name + "\" of " + std::to_string(size.bytes) + " bytes";
  if (size.reserved_bytes > spare_memory_bytes(RealFiles())) {
    throw SystemFailure("reserve " + what, ENOMEM, "ask for less or free memory");
  }
  FileDescriptor descriptor(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) fail("create " + what, "");
  if (ftruncate(descriptor.get(), static_cast<off_t>(size.bytes)) != 0) {
    fail("size " + what, "ask for less");
  }
  const int error = allocate(descriptor.get(), {.offset = 0, .bytes = size.reserved_bytes});
  if (error != 0) throw SystemFailure("reserve " + what, error, "ask for less or free memory");
  if (fcntl(descriptor.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) fail("seal " + what, "");
  return {std::move(descriptor), size.bytes};
}

bool Segment::reserve(const Part& part) const noexcept {
  try {
    return part.offset + part.bytes <= memory_.size() &&
           part.bytes <= spare_memory_bytes(RealFiles()) && allocate(descriptor_.get(), part) == 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Segment Segment::attach(FileDescriptor descriptor) {
  const std::string number = std::to_string(descriptor.get());
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) {
    throw InvalidArgument({"descriptor", number, "must be of shared memory whose size is sealed"});
  }
  struct stat status{};
  if (fstat(descriptor.get(), &status) != 0) fail("ask for the size of descriptor " + number, "");
  if (status.st_size <= 0) {
    throw InvalidArgument({"descriptor", number, "must be of shared memory that is not empty"});
  }
  return {std::move(descriptor), static_cast<std::size_t>(status.st_size)};
}

Segment::Segment(FileDescriptor descriptor, std::size_t bytes)
    : descriptor_(std::move(descriptor)) {
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (start == MAP_FAILED) {
    fail("map shared memory of " + std::to_string(bytes) + " bytes", "raise the limit of memory");
  }
  memory_ = {static_cast<std::byte*>(start), bytes};
  (void)madvise(start, bytes, MADV_DONTFORK);  // refused or not, our own access is as it was
}

Segment::Segment(Segment&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), memory_(std::exchange(other.memory_, {})) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(memory_, other.memory_);
  return *this;
}

Segment::~Segment() {
  if (!memory_.empty()) (void)munmap(memory_.data(), memory_.size());
}

}  // namespace muster
