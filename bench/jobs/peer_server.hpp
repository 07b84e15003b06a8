// peer_server.hpp: the server that a peer needs, with a port and a folder of its own, both gone
// with it. It ends with this program, however that ends.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/reserved_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace muster::bench {

// How a server is started, with the program's path first.
using ServerArguments =
    std::function<std::vector<std::string>(int port, const std::string& folder)>;

// Syncs before it answers.
ServerArguments redis();

// Syncs at most every so many milliseconds; 0: always before it answers.
ServerArguments beanstalkd(unsigned sync_ms);

class PeerServer {
 public:
  // Returns when it takes connections. Throws std::runtime_error if it does not, or is not here.
  explicit PeerServer(const ServerArguments& arguments);
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  [[nodiscard]] int port() const { return port_.number(); }

  // To its files, so far.
  [[nodiscard]] std::uint64_t written_bytes() const;

 private:
  void wait_until_ready();

  // Fixed at construction.
  const testing::ReservedPort port_;
  const testing::TemporaryFolder folder_;
  std::optional<testing::ServerProcess> process_;
};

// Connected to a port of this machine. Throws std::system_error if it cannot be.
FileDescriptor connect_to(int port);

// Where a program is, as the shell would find it; empty: nowhere.
std::string path_of(const std::string& program);

}  // namespace muster::bench
