// byte_writer.cpp: what is more than stands inside, and lengths.
#include <bit>
#include <cstdint>
#include <utility>

#include <muster/byte_writer.hpp>

namespace muster {

void ByteWriter::append_length(std::size_t length) {
  const auto image = std::bit_cast<std::array<std::byte, 8>>(std::uint64_t{length});
  append(image);
}

Bytes ByteWriter::take() {
  const std::size_t size = std::exchange(inside_size_, 0);
  if (!outside_.empty()) return std::exchange(outside_, {});
  return Bytes::copy_of(std::span(inside_).first(size));
}

void ByteWriter::append_outside(std::span<const std::byte> bytes) {
  const auto text = [](std::span<const std::byte> part) {
    return std::string_view(reinterpret_cast<const char*>(part.data()), part.size());
  };
  if (outside_.empty()) {
    outside_.reserve(inside_size_ + bytes.size());
    outside_.append(text(std::span(inside_).first(inside_size_)));
    inside_size_ = 0;
  }
  outside_.append(text(bytes));
}

}  // namespace muster
