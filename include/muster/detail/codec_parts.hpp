// codec_parts.hpp: what the codecs of codec.hpp are put together from.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/byte_reader.hpp>
#include <muster/byte_writer.hpp>

namespace muster {

template <class T>
struct Codec;

namespace detail {

// Trivially copyable or not, they hold an address.
template <class T>
inline constexpr bool kRefersElsewhere =
    std::is_reference_v<T> || std::is_pointer_v<std::remove_all_extents_t<T>> ||
    std::is_member_pointer_v<std::remove_all_extents_t<T>> || std::is_null_pointer_v<T>;
template <class Char, class Traits>
inline constexpr bool kRefersElsewhere<std::basic_string_view<Char, Traits>> = true;
template <class T, std::size_t kExtent>
inline constexpr bool kRefersElsewhere<std::span<T, kExtent>> = true;
template <class T>
inline constexpr bool kRefersElsewhere<std::reference_wrapper<T>> = true;

// Whether Boost.Describe knows the members; seen without Boost, by the function that its macros
// declare. So a described struct is never sent in one way here and in another there, depending on
// what was included.
template <class T>
inline constexpr bool kDescribed = requires(T** type) { boost_public_member_descriptor_fn(type); };

// As the compiler spells it, for messages.
template <class T>
constexpr std::string_view type_name() {
  // GCC: "... [with T = int; std::string_view = ...]"; clang: "... [T = int]".
  const std::string_view function = __PRETTY_FUNCTION__;
  const std::size_t begin = function.find("T = ") + 4;
  const std::size_t semicolon = function.find(';', begin);
  const std::size_t end = semicolon != std::string_view::npos ? semicolon : function.rfind(']');
  return function.substr(begin, end - begin);
}

// Whether many in a row are sent by one copy.
template <class T>
concept HasPlainCodec = requires { requires Codec<T>::kIsPlain; };

// Rethrow with the part's name in front: "item 3: ...", "Image.width: ...".
[[noreturn]] MUSTER_API void rethrow_within(const CodecError& error, std::string_view part,
                                            std::size_t number);

template <class T>
T decode_named(ByteReader& in, std::string_view name) {
  try {
    return Codec<T>::decode(in);
  } catch (const CodecError& error) {
    throw error.within(name);
  }
}

template <class T>
T decode_item(ByteReader& in, std::string_view part, std::size_t number) {
  try {
    return Codec<T>::decode(in);
  } catch (const CodecError& error) {
    rethrow_within(error, part, number);
  }
}

// One after the other; `part` and the number from `first_number` on name them in messages.
template <class... Items>
std::tuple<Items...> decode_items([[maybe_unused]] ByteReader& in,
                                  [[maybe_unused]] std::string_view part,
                                  [[maybe_unused]] std::size_t first_number) {
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    // Braces, so that the first comes first.
    return std::tuple<Items...>{decode_item<Items>(in, part, first_number + kIndex)...};
  }(std::index_sequence_for<Items...>());
}

template <class Map>
struct MapCodec {
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;

  static void encode(const Map& map, ByteWriter& out) {
    out.append_length(map.size());
    for (const auto& [key, value] : map) {
      Codec<Key>::encode(key, out);
      Codec<Value>::encode(value, out);
    }
  }

  static Map decode(ByteReader& in) {
    const std::size_t count = in.take_length(2, "a map");
    Map map;
    for (std::size_t i = 0; i < count; ++i) {
      // Braces, so that the key comes first.
      const bool is_new = map.insert(std::pair<Key, Value>{decode_item<Key>(in, "key", i),
                                                           decode_item<Value>(in, "value", i)})
                              .second;
      if (!is_new) {
        rethrow_within(CodecError("cannot decode a map: this key is there already"), "key", i);
      }
    }
    return map;
  }
};

}  // namespace detail
}  // namespace muster
