// key_hash.hpp: affinity keys as 64 well-mixed bits, the same on every machine and in every build.
//
//     const std::uint64_t hash = hash_key("user:42");
//
// Each bit of a key changes each bit of its hash in half of all cases, so any part of a hash may be
// used for itself. There is no seed: a key keeps its worker across restarts. So this is no defence
// against somebody who chooses keys in order to overload a worker; a limit per key and stealing
// are.
//
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

// Scatters 64 bits over 64 bits, and never two to the same. The finalizer of splitmix64, with the
// constants of its variant 13 by Stafford.
constexpr std::uint64_t mix_bits(std::uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11eb;
  return bits ^ (bits >> 31);
}

// Eight bytes of the key at a time. A step is a bijection of what came before and one of the eight
// bytes, so keys of one length that differ in one such group only never have the same hash.
constexpr std::uint64_t hash_key(std::string_view key) noexcept {
  constexpr std::size_t kGroup = 8;
  const auto absorb = [](std::uint64_t state, std::uint64_t group) {
    return std::rotl(state ^ (group * 0x9e37'79b9'7f4a'7c15), 31) * 0xd6e8'feb8'6659'fd93;
  };
  const auto byte = [](char character, std::size_t place) {
    return std::uint64_t{static_cast<unsigned char>(character)} << (8 * place);
  };

  // The length is part of it, or "a" would be the same as "a" and a zero byte.
  std::uint64_t state = mix_bits(key.size() + 1);
  for (; key.size() >= kGroup; key.remove_prefix(kGroup)) {
    // Compilers see one load in this.
    state =
        absorb(state, byte(key[0], 0) | byte(key[1], 1) | byte(key[2], 2) | byte(key[3], 3) |
                          byte(key[4], 4) | byte(key[5], 5) | byte(key[6], 6) | byte(key[7], 7));
  }
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < key.size(); ++i) rest |= byte(key[i], i);
  return mix_bits(absorb(state, rest));
}

}  // namespace muster
