// byte_reader.hpp: where a codec finds the bytes of a value, and what it throws if they are wrong.
//
//     static Money decode(muster::ByteReader& in) {
//       const auto cents = muster::Codec<std::int64_t>::decode(in);
//       if (cents < 0) throw muster::CodecError("cannot decode Money: it is negative");
//       return Money(cents);
//     }
//
// Whatever the bytes are, nothing is read beyond them, and nothing is allocated for what they only
// claim to hold.
//
// Thread safety: none.
// Lifetime: the Bytes that are read must outlive the reader.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <muster/base/api.hpp>
#include <muster/bytes.hpp>
#include <muster/error.hpp>

namespace muster {

// Bytes are not those of the value they are taken for: too few, too many, or impossible ones. Says
// which: `task "resize": argument 1: Image.width: cannot decode int: it takes 4 bytes, but 2 bytes
// are left`.
class MUSTER_API CodecError : public Error {
 public:
  explicit CodecError(const std::string& message) : Error(ErrorCode::malformed, message) {}
  CodecError(const CodecError&) = default;
  CodecError& operator=(const CodecError&) = default;
  ~CodecError() override;

  // The same, of something that is part of `whole`.
  [[nodiscard]] CodecError within(std::string_view whole) const;
};

class MUSTER_API ByteReader {
 public:
  explicit ByteReader(const Bytes& source) noexcept : source_(source), rest_(source.span()) {}
  explicit ByteReader(Bytes&&) = delete;
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  // The next bytes, as long as the source lives. `what` names the type for the CodecError that is
  // thrown if there are fewer.
  [[nodiscard]] std::span<const std::byte> take(std::size_t count, std::string_view what) {
    if (count > left()) throw_short(count, what);
    const std::span<const std::byte> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  // The same, sharing the memory of the source.
  [[nodiscard]] Bytes take_part(std::size_t count, std::string_view what);

  // A number from ByteWriter::append_length(), of items that take at least `item_bytes` each.
  // Throws CodecError if there is no room for as many. Requires: item_bytes > 0.
  [[nodiscard]] std::size_t take_length(std::size_t item_bytes, std::string_view what);

  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

  // Throws CodecError if bytes are left.
  void expect_end() const {
    if (left() > 0) throw_long();
  }

 private:
  [[noreturn]] void throw_short(std::size_t count, std::string_view what) const;
  [[noreturn]] void throw_long() const;

  const Bytes& source_;
  std::span<const std::byte> rest_;
};

}  // namespace muster
