// codec_described.hpp: structs described by Boost.Describe go to other processes, too.
//
//     struct Image { int width = 0; int height = 0; std::vector<std::byte> pixels; };
//     BOOST_DESCRIBE_STRUCT(Image, (), (width, height, pixels))
//
// Needs Boost 1.77 or newer, its headers only; nothing else of `processes` does. Members are sent
// one after the other, in the order of their description, those of bases first; each must be of a
// type that codec.hpp knows. A member that is not described is not sent. An error names the member.
//
// The struct must have a default constructor.
#pragma once

#include <string>
#include <type_traits>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <muster/codec.hpp>

namespace muster {

template <class T>
  requires detail::kDescribed<T>
struct Codec<T> {
  static_assert(std::is_default_constructible_v<T>,
                "muster: a described struct needs a default constructor to be decoded");

  static void encode(const T& value, ByteWriter& out) {
    boost::mp11::mp_for_each<Members>([&](auto member) {
      const auto& field = value.*member.pointer;
      Codec<std::remove_cvref_t<decltype(field)>>::encode(field, out);
    });
  }

  static T decode(ByteReader& in) {
    T value{};
    boost::mp11::mp_for_each<Members>([&](auto member) {
      auto& field = value.*member.pointer;
      try {
        field = Codec<std::remove_cvref_t<decltype(field)>>::decode(in);
      } catch (const CodecError& error) {
        throw error.within(std::string(detail::type_name<T>()) + "." + member.name);
      }
    });
    return value;
  }

 private:
  using Members = boost::describe::describe_members<T, boost::describe::mod_any_access |
                                                           boost::describe::mod_inherited |
                                                           boost::describe::mod_hidden>;
  static_assert(!boost::mp11::mp_empty<Members>::value,
                "muster: an encoding has at least one byte, so there must be a member");
};

}  // namespace muster
