// network_proxy.hpp: a network between a client and a server of a test, which fails to order.
//
//     NetworkProxy proxy(cluster.port());
//     JobPool pool({.store = with_port(cluster.create_database(), proxy.port())});
//     proxy.cut();    // a pulled cable: nobody is told, nothing arrives
//     proxy.heal();   // and whatever was on its way arrives
//     proxy.reset();  // every connection ends with an error on both sides
//
// Forwards TCP from a port of 127.0.0.1 to another one. An end of a connection is passed on, too:
// orderly as it came, or as a reset. If nobody listens at the other port a client is accepted and
// reset, instead of being refused.
//
// What is called holds for every byte from its return on, for old and new connections, until
// heal(); only reset() and cut_after_bytes_to_server() concern a moment.
//
// Thread safety: any thread may do anything.
// Lifetime: owns a thread; the destructor closes all connections.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <poll.h>
#include <thread>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/processes/file_descriptor.hpp>
#include <muster/sync/mutex.hpp>

namespace muster::testing {

class NetworkProxy {
 public:
  explicit NetworkProxy(int server_port);
  ~NetworkProxy();
  NetworkProxy(const NetworkProxy&) = delete;
  NetworkProxy& operator=(const NetworkProxy&) = delete;

  [[nodiscard]] int port() const { return port_; }

  // No byte moves in either direction and none is lost. New connections seem to be made, and hang.
  void cut() MUSTER_EXCLUDES(mutex_);

  // What clients say passes; what the server answers is lost.
  void drop_answers() MUSTER_EXCLUDES(mutex_);

  // Ends all of the above and forgets what cut_after_bytes_to_server() waits for. Connections that
  // have lost an answer are reset, the others go on.
  void heal() MUSTER_EXCLUDES(mutex_);

  // Ends all connections abruptly, on both sides, those that hang included. Changes nothing else.
  void reset() MUSTER_EXCLUDES(mutex_);

  // Lets `count` more bytes pass to the server, counted over all connections. Then all clients are
  // reset. The server gets these bytes and after them an orderly end, so that it does what they ask
  // for; what it answers is lost. Connections made later work.
  void cut_after_bytes_to_server(std::uint64_t count) MUSTER_EXCLUDES(mutex_);

  // All that ever passed.
  [[nodiscard]] std::uint64_t bytes_to_server() const MUSTER_EXCLUDES(mutex_);

  // Clients that ever came, whether there was a server for them or not.
  [[nodiscard]] std::uint64_t connections() const MUSTER_EXCLUDES(mutex_);

  // Whether an answer was lost since drop_answers() or cut_after_bytes_to_server(), within that
  // time: then the server has done what it was asked for.
  bool wait_until_answer_dropped(Duration at_most) MUSTER_EXCLUDES(mutex_);

  // Whether all connections to the server ended, within that time. PostgreSQL ends one as the last
  // thing of all: whatever was not committed is rolled back, and no lock is held any more.
  bool wait_until_server_hung_up(Duration at_most) MUSTER_EXCLUDES(mutex_);

 private:
  struct Connection;
  enum class Fate { goes_on, is_over, is_broken };

  void run() MUSTER_EXCLUDES(mutex_);
  void wake() const;
  void watch(std::vector<pollfd>& watched) const MUSTER_REQUIRES(mutex_);
  void accept_clients() MUSTER_REQUIRES(mutex_);
  void move_all() MUSTER_REQUIRES(mutex_);
  Fate move(Connection& connection) MUSTER_REQUIRES(mutex_);
  Fate move_to_server(Connection& connection) MUSTER_REQUIRES(mutex_);
  Fate move_to_client(Connection& connection) MUSTER_REQUIRES(mutex_);
  void reset_clients() MUSTER_REQUIRES(mutex_);

  // Fixed at construction.
  const int server_port_;
  int port_ = 0;
  FileDescriptor listener_;
  FileDescriptor wake_;
  std::thread thread_;

  // Guarded by mutex_, which is held while bytes move.
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::unique_ptr<Connection>> connections_ MUSTER_GUARDED_BY(mutex_);
  bool cut_ MUSTER_GUARDED_BY(mutex_) = false;
  bool dropping_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<std::uint64_t> bytes_left_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t bytes_to_server_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::uint64_t accepted_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool answer_dropped_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::testing
