// byte_writer.cpp: what is more than stands inside, and lengths.
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include <muster/byte_writer.hpp>

namespace muster {

void ByteWriter::append_length(std::size_t length) {
  const auto image = std::bit_cast<std::array<std::byte, 8>>(std::uint64_t{length});
  append(image);
}

void ByteWriter::append_outside(std::span<const std::byte> bytes) {
  if (outside_.empty()) {
    outside_.reserve(small_.size() + bytes.size());
    outside_.append(std::exchange(small_, {}).text());
  }
  outside_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace muster
