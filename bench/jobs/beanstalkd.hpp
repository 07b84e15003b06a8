// beanstalkd.hpp: a client of beanstalkd over a plain socket.
//
// A server of its protocol answers commands of a connection one after the other. So many are sent
// at once, and their answers read together; nothing waits for the network but the last one.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <muster/jobs/enqueue_options.hpp>
#include <muster/processes/file_descriptor.hpp>

namespace muster::bench {

class Beanstalkd {
 public:
  // Throws std::system_error if it cannot connect; members throw it if the connection is lost, and
  // std::runtime_error if the server answers something else than it should.
  explicit Beanstalkd(int port);

  void put(std::span<const EncodedJob> jobs);

  // Takes up to so many that wait, and deletes them. Says how many there were.
  std::size_t run(std::size_t most);

 private:
  void send(std::string_view bytes);
  std::string read_line();
  void skip(std::size_t bytes);
  void receive();

  FileDescriptor socket_;
  std::string received_;
  std::size_t read_ = 0;  // of that
};

}  // namespace muster::bench
