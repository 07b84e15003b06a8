// payload.hpp: how the arguments of a task, and its result, become one Bytes and values again.
//
//     pool.call<Thumb>("resize", image);
//     // is, but for the future in between,
//     decode_result<Thumb>(pool.exec("resize", encode_arguments(image)));
//
// A text or a Bytes that is the only argument, or the result, is sent as it is, without a length in
// front. So these all understand each other, and a worker that is no C++ program understands them:
//
//     pool.exec("echo", "hello");                           [](const Bytes& payload) { ... }
//     pool.exec("echo", encode_arguments("hello"));         [](const std::string& text) { ... }
//     pool.call<std::string>("echo", std::string("hello")); [](std::string_view text) { ... }
//
// All else is encoded by codec.hpp, one argument after the other: f(1, 2) is the same as
// f(std::tuple(1, 2)). No argument, and no result, is no byte at all.
//
// The number and the types of the arguments must be those of the handler's parameters: nothing is
// converted, an int is not understood as a double. Too many or too few bytes are noticed; bytes of
// another type of the same size are not.
//
// Thread safety: functions of values.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <muster/byte_reader.hpp>
#include <muster/byte_writer.hpp>
#include <muster/bytes.hpp>
#include <muster/codec.hpp>

namespace muster {
namespace detail {

template <class T>
concept TextValue = std::same_as<T, std::string> || std::same_as<T, std::string_view> ||
                    std::same_as<T, const char*> || std::same_as<T, char*>;

// What is sent as it is if it is alone.
template <class... Values>
inline constexpr bool kSentWhole = false;
template <class Value>
inline constexpr bool kSentWhole<Value> = TextValue<Value> || std::same_as<Value, Bytes>;

template <class Argument>
void encode_argument(const Argument& argument, ByteWriter& out) {
  if constexpr (TextValue<std::decay_t<Argument>>) {
    Codec<std::string>::encode(argument, out);
  } else {
    Codec<Argument>::encode(argument, out);
  }
}

}  // namespace detail

// A text or Bytes that is alone and moved in is not copied.
template <class... Arguments>
[[nodiscard]] Bytes encode_arguments(Arguments&&... arguments) {
  if constexpr (detail::kSentWhole<std::decay_t<Arguments>...>) {
    return Bytes(std::forward<Arguments>(arguments)...);
  } else {
    ByteWriter out;
    (detail::encode_argument(arguments, out), ...);
    return out.take();
  }
}

// What encode_arguments() was given. Throws CodecError, which names the argument by its number from
// 1 on.
template <class... Values>
[[nodiscard]] std::tuple<Values...> decode_arguments(const Bytes& payload) {
  if constexpr (detail::kSentWhole<Values...>) {
    static_assert((!detail::kRefersElsewhere<Values> && ...),
                  "muster: a text is decoded to a std::string or a Bytes");
    if constexpr ((std::same_as<Values, Bytes> && ...)) {
      return std::tuple<Values...>(payload);
    } else {
      return std::tuple<Values...>(payload.to_string());
    }
  } else {
    ByteReader in(payload);
    std::tuple<Values...> values = detail::decode_items<Values...>(in, "argument", 1);
    in.expect_end();
    return values;
  }
}

template <class Result>
[[nodiscard]] Bytes encode_result(Result&& result) {
  return encode_arguments(std::forward<Result>(result));
}

// What encode_result() was given, or nothing if Result is void. Throws CodecError.
template <class Result>
Result decode_result(const Bytes& payload) {
  try {
    if constexpr (detail::kSentWhole<Result>) {
      return std::get<0>(decode_arguments<Result>(payload));
    } else if constexpr (std::is_void_v<Result>) {
      ByteReader(payload).expect_end();
    } else {
      ByteReader in(payload);
      Result result = Codec<Result>::decode(in);
      in.expect_end();
      return result;
    }
  } catch (const CodecError& error) {
    throw error.within("result");
  }
}

}  // namespace muster
