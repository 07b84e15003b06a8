// codec.cpp: the codecs that are no templates.
#include <muster/codec.hpp>

namespace muster {

void Codec<bool>::encode(bool value, ByteWriter& out) {
  const std::byte image{value};
  out.append(std::span(&image, 1));
}

bool Codec<bool>::decode(ByteReader& in) {
  const std::byte image = in.take(1, "bool")[0];
  if (image > std::byte{1}) {
    throw CodecError("cannot decode bool: it is " + std::to_string(std::to_integer<int>(image)) +
                     ", but must be 0 or 1");
  }
  return image == std::byte{1};
}

void Codec<std::string>::encode(std::string_view text, ByteWriter& out) {
  out.append_length(text.size());
  out.append(text);
}

std::string Codec<std::string>::decode(ByteReader& in) {
  const std::size_t size = in.take_length(1, "std::string");
  const std::span<const std::byte> bytes = in.take(size, "std::string");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Codec<Bytes>::encode(const Bytes& bytes, ByteWriter& out) {
  out.append_length(bytes.size());
  out.append(bytes.span());
}

Bytes Codec<Bytes>::decode(ByteReader& in) {
  const std::size_t size = in.take_length(1, "Bytes");
  return in.take_part(size, "Bytes");
}

namespace detail {

void rethrow_within(const CodecError& error, std::string_view part, std::size_t number) {
  throw error.within(std::string(part) + " " + std::to_string(number));
}

}  // namespace detail
}  // namespace muster
