// bytes.hpp: bytes that never change and may be shared: what goes to worker processes and back.
//
//     pool.exec("echo", "hello");                           // a text is copied
//     muster::Bytes report(std::move(text));                // the string's own memory
//     auto page = muster::Bytes::view_of(mapping, owner);   // nothing is copied; owner stays alive
//     parse(page.text());
//
// Up to 48 bytes stand in the object itself, so that small ones cost no allocation. More are shared
// by all copies, and freed or let go with the last.
//
// Thread safety: a value. Copies that share memory may be used by different threads.
// Lifetime: span() and text() are valid as long as the object they were asked of is neither changed
// nor gone: a small one's bytes go with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>

namespace muster {

class MUSTER_API Bytes {
 public:
  // As many stand inside.
  static constexpr std::size_t kInsideBytes = 48;

  Bytes() noexcept : inside_{} {}

  // The text without a zero byte behind it. Not explicit, so that a call may be given a text.
  Bytes(std::string_view text) : Bytes(copy_of(text)) {}
  Bytes(const char* text) : Bytes(copy_of(std::string_view(text))) {}
  Bytes(const std::string& text) : Bytes(copy_of(std::string_view(text))) {}
  Bytes(std::nullptr_t) = delete;

  // Takes the memory over; of a small one the bytes are copied.
  Bytes(std::string&& text);
  Bytes(std::vector<std::byte>&& bytes);

  Bytes(const Bytes& other) noexcept { assign(other); }
  Bytes(Bytes&& other) noexcept { take(other); }
  Bytes& operator=(const Bytes& other) noexcept {
    if (this != &other) {
      reset();
      assign(other);
    }
    return *this;
  }
  Bytes& operator=(Bytes&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Bytes() { reset(); }

  [[nodiscard, gnu::hot]] static Bytes copy_of(std::span<const std::byte> bytes);
  [[nodiscard]] static Bytes copy_of(std::string_view text) {
    return copy_of(std::as_bytes(std::span(text)));
  }

  // These very bytes, which must not change or go as long as `owner` lives. Without an owner they
  // must outlive every copy and part. Small ones are copied all the same, and the owner let go.
  [[nodiscard]] static Bytes view_of(std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> owner);

  // Some of them: `count` from `offset` on. Shares the memory. Requires: there are as many.
  [[nodiscard]] Bytes part(std::size_t offset, std::size_t count) const;

  [[nodiscard]] std::span<const std::byte> span() const noexcept { return {begin(), size_}; }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(begin()), size_};
  }
  [[nodiscard]] std::string to_string() const { return std::string(text()); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  friend bool operator==(const Bytes& left, const Bytes& right) noexcept {
    return left.text() == right.text();
  }

 private:
  friend class ByteWriter;  // writes small ones where they stand

  struct Outside {
    const std::byte* begin;
    std::shared_ptr<const void> owner;
  };
  static_assert(sizeof(Outside) <= kInsideBytes, "what is inside has the room of both");

  // More than kInsideBytes.
  Bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) noexcept
      : size_(bytes.size()), outside_{bytes.data(), std::move(owner)} {}

  [[nodiscard]] bool is_inside() const noexcept { return size_ <= kInsideBytes; }
  [[nodiscard]] const std::byte* begin() const noexcept {
    return is_inside() ? inside_ : outside_.begin;
  }

  // Require: nothing outside is held, as after reset() or at the beginning of a constructor.
  void assign(const Bytes& other) noexcept {
    size_ = other.size_;
    if (is_inside()) {
      std::memcpy(inside_, other.inside_, kInsideBytes);
    } else {
      std::construct_at(&outside_, other.outside_);
    }
  }
  void take(Bytes& other) noexcept {
    size_ = other.size_;
    if (is_inside()) {
      std::memcpy(inside_, other.inside_, kInsideBytes);
      other.size_ = 0;
    } else {
      take_outside(other);
    }
  }

  void reset() noexcept {
    if (!is_inside()) drop_outside();
    size_ = 0;
  }

  // Require: it is not inside. Not inline: small ones are many, and so are those who let go.
  void take_outside(Bytes& other) noexcept;
  void drop_outside() noexcept;

  std::size_t size_ = 0;

  // Which one it is, size_ tells.
  union {
    std::byte inside_[kInsideBytes];
    Outside outside_;
  };
};

static_assert(sizeof(Bytes) == 56, "with the eight bytes of a queue's slot one cache line");

}  // namespace muster
