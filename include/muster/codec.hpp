// codec.hpp: how values become bytes for another process, and values again.
//
//     muster::ByteWriter out;
//     muster::Codec<std::vector<int>>::encode({1, 2, 3}, out);
//     const muster::Bytes bytes = out.take();
//     muster::ByteReader in(bytes);
//     auto same = muster::Codec<std::vector<int>>::decode(in);
//
// Known are: numbers, enums and whatever else is trivially copyable; std::string, Bytes; vector,
// array, optional, pair, tuple, map and unordered_map of what is known. With codec_described.hpp
// also structs described by Boost.Describe. For any other type of yours specialise Codec:
//
//     template <>
//     struct muster::Codec<Money> {
//       static void encode(const Money& money, muster::ByteWriter& out);
//       static Money decode(muster::ByteReader& in);       // throws CodecError
//     };
//
// An encoding has at least one byte, by which a length that cannot be true is known before memory
// is asked for. A reader is left behind the value, so that values may follow each other.
//
// The format is that of this machine: byte order, sizes and layouts as the compiler has them. Both
// programs must have been built from the same declarations; nothing in the bytes tells types apart.
//
// Pointers, references and views do not compile, as they mean nothing in another process. Whether a
// trivially copyable struct holds any cannot be seen; if it is described, it can.
//
// A Bytes is decoded without being copied, and so keeps all that it came with in memory.
//
// Thread safety: functions of values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <muster/byte_reader.hpp>
#include <muster/byte_writer.hpp>
#include <muster/bytes.hpp>
#include <muster/detail/codec_parts.hpp>

namespace muster {

// What is sent as it lies in memory, if there is no Codec of its own for it.
template <class T>
concept PlainValue =
    std::is_trivially_copyable_v<T> && !detail::kRefersElsewhere<T> && !detail::kDescribed<T>;

template <class T>
struct Codec {
  static_assert(!detail::kRefersElsewhere<T>,
                "muster: pointers, references and views mean nothing in another process; send what "
                "they refer to");
  static_assert(!detail::kDescribed<T>,
                "muster: this struct is described; include <muster/codec_described.hpp>");
  static_assert(!std::is_array_v<T>, "muster: send a std::array instead");
  static_assert(detail::kRefersElsewhere<T> || std::is_trivially_copyable_v<T>,
                "muster: no codec is known for this type; specialise muster::Codec for it, or "
                "describe it and include <muster/codec_described.hpp>");

  static constexpr bool kIsPlain = PlainValue<T>;

  static void encode(const T& value, ByteWriter& out) {
    out.append(std::as_bytes(std::span(std::addressof(value), 1)));
  }
  static T decode(ByteReader& in) {
    std::array<std::byte, sizeof(T)> image;
    std::memcpy(image.data(), in.take(sizeof(T), detail::type_name<T>()).data(), sizeof(T));
    return std::bit_cast<T>(image);
  }
};

// Other bytes than 0 and 1 are no bool.
template <>
struct MUSTER_API Codec<bool> {
  static void encode(bool value, ByteWriter& out);
  static bool decode(ByteReader& in);
};

template <>
struct MUSTER_API Codec<std::string> {
  static void encode(std::string_view text, ByteWriter& out);
  static std::string decode(ByteReader& in);
};

template <>
struct MUSTER_API Codec<Bytes> {
  static void encode(const Bytes& bytes, ByteWriter& out);
  static Bytes decode(ByteReader& in);
};

template <class T, class Allocator>
struct Codec<std::vector<T, Allocator>> {
  static void encode(const std::vector<T, Allocator>& items, ByteWriter& out) {
    out.append_length(items.size());
    if constexpr (detail::HasPlainCodec<T>) {
      out.append(std::as_bytes(std::span(items)));
    } else {
      for (const T& item : items) Codec<T>::encode(item, out);
    }
  }

  static std::vector<T, Allocator> decode(ByteReader& in) {
    if constexpr (detail::HasPlainCodec<T> && std::is_default_constructible_v<T>) {
      const std::size_t count = in.take_length(sizeof(T), kName);
      const std::span<const std::byte> image = in.take(count * sizeof(T), kName);
      std::vector<T, Allocator> items(count);
      if (count > 0) std::memcpy(static_cast<void*>(items.data()), image.data(), image.size());
      return items;
    } else {
      const std::size_t count = in.take_length(1, kName);
      std::vector<T, Allocator> items;
      // Not for all: many small items may be claimed, and those in memory be much larger.
      items.reserve(std::min(count, in.left() / sizeof(T)));
      for (std::size_t i = 0; i < count; ++i) {
        items.push_back(detail::decode_item<T>(in, "item", i));
      }
      return items;
    }
  }

 private:
  static constexpr std::string_view kName = "std::vector";
};

template <class T, std::size_t kCount>
struct Codec<std::array<T, kCount>> {
  static_assert(kCount > 0, "muster: an encoding has at least one byte");

  static void encode(const std::array<T, kCount>& items, ByteWriter& out) {
    if constexpr (detail::HasPlainCodec<T>) {
      out.append(std::as_bytes(std::span(items)));
    } else {
      for (const T& item : items) Codec<T>::encode(item, out);
    }
  }

  static std::array<T, kCount> decode(ByteReader& in) {
    if constexpr (detail::HasPlainCodec<T>) {
      std::array<std::byte, sizeof(T) * kCount> image;
      std::memcpy(image.data(), in.take(image.size(), "std::array").data(), image.size());
      return std::bit_cast<std::array<T, kCount>>(image);
    } else {
      std::array<T, kCount> items;
      for (std::size_t i = 0; i < kCount; ++i) items[i] = detail::decode_item<T>(in, "item", i);
      return items;
    }
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static void encode(const std::optional<T>& value, ByteWriter& out) {
    Codec<bool>::encode(value.has_value(), out);
    if (value) Codec<T>::encode(*value, out);
  }
  static std::optional<T> decode(ByteReader& in) {
    if (!detail::decode_named<bool>(in, "std::optional")) return std::nullopt;
    return Codec<T>::decode(in);
  }
};

template <class First, class Second>
struct Codec<std::pair<First, Second>> {
  static void encode(const std::pair<First, Second>& pair, ByteWriter& out) {
    Codec<First>::encode(pair.first, out);
    Codec<Second>::encode(pair.second, out);
  }
  static std::pair<First, Second> decode(ByteReader& in) {
    // Braces, so that the first comes first.
    return std::pair<First, Second>{detail::decode_named<First>(in, "first"),
                                    detail::decode_named<Second>(in, "second")};
  }
};

template <class... Items>
struct Codec<std::tuple<Items...>> {
  static_assert(sizeof...(Items) > 0, "muster: an encoding has at least one byte");

  static void encode(const std::tuple<Items...>& items, ByteWriter& out) {
    std::apply([&out](const Items&... item) { (Codec<Items>::encode(item, out), ...); }, items);
  }
  static std::tuple<Items...> decode(ByteReader& in) {
    return detail::decode_items<Items...>(in, "item", 0);
  }
};

template <class Key, class Value, class... Rest>
struct Codec<std::map<Key, Value, Rest...>> : detail::MapCodec<std::map<Key, Value, Rest...>> {};

template <class Key, class Value, class... Rest>
struct Codec<std::unordered_map<Key, Value, Rest...>>
    : detail::MapCodec<std::unordered_map<Key, Value, Rest...>> {};

}  // namespace muster
