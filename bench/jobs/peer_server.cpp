// peer_server.cpp: command lines of servers, and waiting until they listen.
#include "jobs/peer_server.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "jobs/written_bytes.hpp"

namespace muster::bench {

using namespace std::chrono_literals;

ServerArguments redis() {
  return [](int port, const std::string& folder) -> std::vector<std::string> {
    return {path_of("redis-server"),
            "--bind",
            "127.0.0.1",
            "--port",
            std::to_string(port),
            "--dir",
            folder,
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always"};
  };
}

ServerArguments beanstalkd(unsigned sync_ms) {
  return [sync_ms](int port, const std::string& folder) -> std::vector<std::string> {
    return {path_of("beanstalkd"),  "-l", "127.0.0.1", "-p",
            std::to_string(port),   "-b", folder,      "-f",
            std::to_string(sync_ms)};
  };
}

PeerServer::PeerServer(const ServerArguments& arguments) {
  testing::give_to_servers(folder_.path());
  process_.emplace(testing::ServerCommand{.arguments = arguments(port(), folder_.path().string()),
                                          .log = folder_.file("server.log")});
  wait_until_ready();
}

void PeerServer::wait_until_ready() {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  for (;;) {
    try {
      (void)connect_to(port());
      return;
    } catch (const std::system_error&) {
      const bool is_over = process_->wait_until_ended(2ms);
      if (is_over || std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error("a peer's server does not start: " + process_->report());
      }
    }
  }
}

std::uint64_t PeerServer::written_bytes() const {
  return written_bytes_of(process_->id());
}

FileDescriptor connect_to(int port) {
  FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(port));
  const int at_once = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot connect to port " + std::to_string(port));
  }
  return connection;
}

std::string path_of(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path found = std::filesystem::path(folder) / program;
    if (access(found.c_str(), X_OK) == 0) return found.string();
  }
  return "";
}

}  // namespace muster::bench
