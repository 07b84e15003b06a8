// reserved_port.hpp: a TCP port of 127.0.0.1 that a server may come back to.
//
// Taken from below those that the kernel gives to outgoing connections: while the server is down
// nobody connects from its port, and no client that tries again and again finds itself there. An
// abstract socket named after it keeps other tests off, and is gone with this process.
//
// Thread safety: immutable.
#pragma once

#include <arpa/inet.h>
#include <cstddef>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include <muster/processes/file_descriptor.hpp>

namespace muster::testing {

class ReservedPort {
 public:
  ReservedPort() {
    std::random_device random;
    std::uniform_int_distribution<int> any(16'384, 32'767);
    for (int attempt = 0; attempt < 1'000; ++attempt) {
      number_ = any(random);
      if (reserve() && is_free()) return;
    }
    throw std::runtime_error("cannot find a free port between 16384 and 32767");
  }

  [[nodiscard]] int number() const { return number_; }

 private:
  bool reserve() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "muster-test-port-" + std::to_string(number_);
    name.copy(address.sun_path + 1, name.size());  // the zero before it makes it abstract
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    reservation_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::bind(reservation_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
  }

  [[nodiscard]] bool is_free() const {
    const FileDescriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<in_port_t>(number_));
    return ::bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  // Fixed at construction.
  int number_ = 0;
  FileDescriptor reservation_;
};

}  // namespace muster::testing
