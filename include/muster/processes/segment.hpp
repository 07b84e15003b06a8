// segment.hpp: memory that the pool and its workers share.
//
// It has no name in the file system: whoever is to share it is handed the descriptor. When the last
// process that has it is gone, so is the memory, whatever that process died of.
//
// Touching a page for which there is no memory kills. So all of it is reserved at once, or a part,
// and whoever is about to touch more reserves that first. Its size is sealed, since a worker that
// shrank it would kill everybody else by their next access. A child of a process that has it mapped
// does not: a stray child must not write to what others own.
//
// Thread safety: like a pointer; what lies in the memory sees to itself.
// Lifetime: the memory is unmapped when the Segment goes; the descriptor is its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <muster/base/api.hpp>
#include <muster/base/system_files.hpp>
#include <muster/processes/file_descriptor.hpp>

namespace muster {

// Memory that the machine has to spare, by /proc/meminfo; the largest number if that says nothing.
[[nodiscard]] MUSTER_API std::uint64_t spare_memory_bytes(const SystemFiles& files);

class MUSTER_API Segment {
 public:
  // Zeroed memory of at least 1 byte, under a name for /proc/PID/maps. Throws SystemFailure if
  // there is not as much, InvalidArgument if `bytes` is 0.
  [[nodiscard]] static Segment create(const std::string& name, std::size_t bytes);

  // The same, but only the first `reserved_bytes` are reserved.
  struct Size {
    std::size_t bytes;
    std::size_t reserved_bytes;
  };
  [[nodiscard]] static Segment create(const std::string& name, const Size& size);

  // What another process has created, by the descriptor that it handed over. Throws InvalidArgument
  // if that is no memory whose size is sealed, SystemFailure if it cannot be mapped.
  [[nodiscard]] static Segment attach(FileDescriptor descriptor);

  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  // Makes sure of the memory of a part, which may be reserved already. False: there is not as much.
  struct Part {
    std::size_t offset;
    std::size_t bytes;
  };
  [[nodiscard]] bool reserve(const Part& part) const noexcept;

  // Aligned to a page.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }

  // To be handed to whoever is to share it.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

 private:
  Segment(FileDescriptor descriptor, std::size_t bytes);

  FileDescriptor descriptor_;
  std::span<std::byte> memory_;
};

}  // namespace muster
