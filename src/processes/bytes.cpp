// bytes.cpp: bytes that are too many to stand inside.
#include <muster/base/assert.hpp>
#include <muster/bytes.hpp>

namespace muster {
namespace {

template <class Container>
Bytes keep(Container container) {
  const auto owner = std::make_shared<const Container>(std::move(container));
  return Bytes::view_of(std::as_bytes(std::span(*owner)), owner);
}

}  // namespace

Bytes::Bytes(std::string&& text)
    : Bytes(text.size() <= kInsideBytes ? copy_of(text) : keep(std::move(text))) {}

Bytes::Bytes(std::vector<std::byte>&& bytes)
    : Bytes(bytes.size() <= kInsideBytes ? copy_of(bytes) : keep(std::move(bytes))) {}

Bytes Bytes::copy_of(std::span<const std::byte> bytes) {
  Bytes copy;
  if (bytes.size() > kInsideBytes) {
    const auto owner = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
    std::memcpy(owner.get(), bytes.data(), bytes.size());
    return Bytes({owner.get(), bytes.size()}, owner);
  }
  if (!bytes.empty()) std::memcpy(copy.inside_, bytes.data(), bytes.size());
  copy.size_ = bytes.size();
  return copy;
}

Bytes Bytes::view_of(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  if (bytes.size() <= kInsideBytes) return copy_of(bytes);
  return Bytes(bytes, std::move(owner));
}

[[gnu::noinline]] void Bytes::take_outside(Bytes& other) noexcept {
  std::construct_at(&outside_, std::move(other.outside_));
  other.reset();
}

[[gnu::noinline]] void Bytes::drop_outside() noexcept {
  std::destroy_at(&outside_);
  std::fill_n(inside_, kInsideBytes, std::byte{0});
}

Bytes Bytes::part(std::size_t offset, std::size_t count) const {
  MUSTER_ASSERT(offset <= size_);
  MUSTER_ASSERT(count <= size_ - offset);
  const std::span<const std::byte> bytes = span().subspan(offset, count);
  return count <= kInsideBytes ? copy_of(bytes) : Bytes(bytes, outside_.owner);
}

}  // namespace muster
