// bell.cpp: two sleepers in a page.
#include "processes/bell.hpp"

#include <array>
#include <new>
#include <string>
#include <utility>

#include <muster/error.hpp>

namespace muster {
namespace {

constexpr std::size_t kListeners = 2;

struct BellMemory {
  std::array<ParticipantRecord, kListeners> listeners;
  alignas(kCacheLine) Atomic<std::uint64_t> bitmap;
};

}  // namespace

Bell Bell::create() {
  Segment segment = Segment::create("muster-bell", sizeof(BellMemory));
  new (segment.memory().data()) BellMemory;
  return Bell(std::move(segment));
}

Bell Bell::attach(FileDescriptor descriptor) {
  Segment segment = Segment::attach(std::move(descriptor));
  if (segment.memory().size() != sizeof(BellMemory)) {
    throw InvalidArgument(
        {"descriptor", std::to_string(segment.descriptor()), "must be the bell of a pool"});
  }
  return Bell(std::move(segment));
}

Bell::Bell(Segment segment) noexcept : segment_(std::move(segment)) {
  auto* const memory = std::launder(reinterpret_cast<BellMemory*>(segment_.memory().data()));
  sleepers_ = SharedSleepers({.bitmap = &memory->bitmap,
                              .participants = memory->listeners.data(),
                              .count = static_cast<std::uint32_t>(kListeners)});
}

}  // namespace muster
