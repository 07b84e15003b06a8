// byte_writer.hpp: where a codec puts the bytes of a value.
//
//     template <>
//     struct muster::Codec<Money> {
//       static void encode(const Money& money, muster::ByteWriter& out) {
//         muster::Codec<std::int64_t>::encode(money.cents(), out);
//       }
//       ...
//
// As many bytes as fit into a Bytes without an allocation cost none here either.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/bytes.hpp>

namespace muster {

class MUSTER_API ByteWriter {
 public:
  ByteWriter() noexcept = default;
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;

  void append(std::span<const std::byte> bytes) {
    if (bytes.size() <= Bytes::kInsideBytes - small_.size_ && outside_.empty()) {
      // An empty span may have no address, which memcpy must not be given.
      if (!bytes.empty()) std::memcpy(small_.inside_ + small_.size_, bytes.data(), bytes.size());
      small_.size_ += bytes.size();
    } else {
      append_outside(bytes);
    }
  }
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }

  // How many items or bytes follow, as 64 bits. ByteReader::take_length() reads it.
  void append_length(std::size_t length);

  // What was appended, and nothing is left.
  [[nodiscard]] Bytes take() {
    return outside_.empty() ? std::move(small_) : Bytes(std::exchange(outside_, {}));
  }

 private:
  void append_outside(std::span<const std::byte> bytes);

  // One of them is empty.
  Bytes small_;
  std::string outside_;
};

}  // namespace muster
