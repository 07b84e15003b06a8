// byte_reader.cpp: lengths that are checked, and what is said when bytes are wrong.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include <muster/base/assert.hpp>
#include <muster/byte_reader.hpp>

namespace muster {
namespace {

std::string bytes_left(std::size_t count) {
  return count == 1 ? "1 byte is left" : std::to_string(count) + " bytes are left";
}

}  // namespace

CodecError::~CodecError() = default;

CodecError CodecError::within(std::string_view whole) const {
  return CodecError(std::string(whole) + ": " + what());
}

Bytes ByteReader::take_part(std::size_t count, std::string_view what) {
  const std::size_t offset = source_.size() - left();
  static_cast<void>(take(count, what));
  return source_.part(offset, count);
}

std::size_t ByteReader::take_length(std::size_t item_bytes, std::string_view what) {
  MUSTER_ASSERT(item_bytes > 0U);
  std::array<std::byte, 8> image{};
  if (left() < image.size()) throw_short(image.size(), "the length of " + std::string(what));
  std::memcpy(image.data(), take(image.size(), what).data(), image.size());
  const auto length = std::bit_cast<std::uint64_t>(image);
  if (length > left() / item_bytes) {
    throw CodecError("cannot decode " + std::string(what) + ": its length is " +
                     std::to_string(length) + ", but " + bytes_left(left()));
  }
  return static_cast<std::size_t>(length);
}

void ByteReader::throw_short(std::size_t count, std::string_view what) const {
  throw CodecError("cannot decode " + std::string(what) + ": it takes " + std::to_string(count) +
                   (count == 1 ? " byte, but " : " bytes, but ") + bytes_left(left()));
}

void ByteReader::throw_long() const {
  throw CodecError("cannot decode all of it: " + bytes_left(left()) + " behind the last value");
}

}  // namespace muster
