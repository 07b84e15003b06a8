// packet_socket.hpp: packets with descriptors over a pair of sockets. Nothing here waits.
//
// Thread safety: plain functions of a descriptor.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <muster/processes/file_descriptor.hpp>

namespace muster {

inline constexpr std::size_t kMaxPacketBytes = 65'536;
inline constexpr std::size_t kMaxPacketDescriptors = 64;

struct Packet {
  std::string bytes;
  std::vector<FileDescriptor> descriptors;  // they do not survive exec

  // Descriptors were lost on the way, since this process may have no more.
  bool is_short = false;
};

enum class PacketOutcome {
  done,
  would_block,  // nothing there, or no room
  closed,       // the other end is gone
};

// Throws SystemFailure if the kernel has no room for such a packet at all.
[[nodiscard]] PacketOutcome send_packet(int socket, std::string_view bytes,
                                        std::span<const int> descriptors);

// What had been sent before the other end went is still received.
[[nodiscard]] PacketOutcome receive_packet(int socket, Packet& packet);

}  // namespace muster
