// hello.cpp: packets whose first byte says what they are.
#include "processes/hello.hpp"

#include <cerrno>
#include <sys/socket.h>

#include "processes/packet_socket.hpp"

namespace muster {
namespace {

constexpr char kTask = 't';
constexpr char kCapability = 'c';
constexpr char kReady = 'r';
constexpr char kFailure = 'f';

bool say(int socket, char kind, std::string_view text) {
  const std::string packet = kind + std::string(text.substr(0, kMaxPacketBytes - 1));
  ssize_t sent = 0;
  do {
    sent = send(socket, packet.data(), packet.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace

bool say_hello(int socket, const Registry& registry) {
  for (const std::string& name : registry.names()) {
    if (!say(socket, kTask, name)) return false;
  }
  for (const std::string& name : registry.capabilities()) {
    if (!say(socket, kCapability, name)) return false;
  }
  return say(socket, kReady, "");
}

void say_failure(int socket, std::string_view why) {
  (void)say(socket, kFailure, why);
}

HelloOutcome hear_hello(int socket, Abilities& abilities, std::string& text) {
  for (Packet packet;;) {
    const PacketOutcome outcome = receive_packet(socket, packet);
    if (outcome == PacketOutcome::would_block) return HelloOutcome::more;
    if (outcome == PacketOutcome::closed || packet.bytes.empty()) return HelloOutcome::closed;
    std::string rest = packet.bytes.substr(1);
    switch (packet.bytes[0]) {
      case kTask:
        abilities.methods.emplace(std::move(rest), abilities.methods.size());
        break;
      case kCapability:
        abilities.capabilities.push_back(std::move(rest));
        break;
      case kReady:
        return HelloOutcome::ready;
      case kFailure:
        text = std::move(rest);
        return HelloOutcome::failed;
      default:
        text = "it said something that no worker says";
        return HelloOutcome::failed;
    }
  }
}

}  // namespace muster
