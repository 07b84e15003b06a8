// packet_socket.cpp: sendmsg and recvmsg with SCM_RIGHTS.
#include "processes/packet_socket.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

#include <muster/base/assert.hpp>
#include <muster/error.hpp>

namespace muster {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(kMaxPacketDescriptors * sizeof(int));

void take_descriptors(msghdr& header, Packet& packet) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      packet.descriptors.emplace_back(number);
    }
  }
}

}  // namespace

PacketOutcome send_packet(int socket, std::string_view bytes, std::span<const int> descriptors) {
  MUSTER_ASSERT(!bytes.empty(), "an empty packet reads like the end");
  MUSTER_ASSERT(descriptors.size() <= kMaxPacketDescriptors);
  iovec content{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr header{};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    if (sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return PacketOutcome::done;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ETOOMANYREFS) return PacketOutcome::would_block;
    if (errno == EPIPE || errno == ECONNRESET) return PacketOutcome::closed;
    throw SystemFailure("send " + std::to_string(bytes.size()) + " bytes to a spawner", errno, "");
  }
}

PacketOutcome receive_packet(int socket, Packet& packet) {
  packet = {};
  packet.bytes.resize(kMaxPacketBytes);
  iovec content{.iov_base = packet.bytes.data(), .iov_len = packet.bytes.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr header{};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  for (;;) {
    const ssize_t count = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count > 0) {
      packet.bytes.resize(static_cast<std::size_t>(count));
      packet.is_short = (header.msg_flags & MSG_CTRUNC) != 0;
      take_descriptors(header, packet);
      return PacketOutcome::done;
    }
    if (count == 0) return PacketOutcome::closed;
    // The other end went with packets of ours unread; it says so once, before what it had sent.
    if (errno == EINTR || errno == ECONNRESET) continue;
    if (errno == EAGAIN) return PacketOutcome::would_block;
    throw SystemFailure("receive from a spawner", errno, "");
  }
}

}  // namespace muster
