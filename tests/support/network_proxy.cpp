// network_proxy.cpp: one thread that moves bytes between sockets, and what stops it from doing so.
#include "support/network_proxy.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <utility>

#include <muster/base/assert.hpp>

namespace muster::testing {
namespace {

constexpr int kBacklog = 128;

// One direction of a connection.
struct Flow {
  // Whether the other side may be read from.
  [[nodiscard]] bool has_room() const { return waiting.empty() && !ended; }

  std::string waiting;  // was read, and not yet written
  bool ended = false;   // there is no more to read
  bool closed = false;  // and whoever is written to knows it
};

sockaddr_in local_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(port));
  return address;
}

FileDescriptor make_socket() {
  return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void send_without_delay(const FileDescriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Closes it so that the other side gets an error.
void reset_peer(FileDescriptor& socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket.reset();
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// These two are false if the connection is broken.
bool read_some(const FileDescriptor& from, Flow& flow) {
  if (!flow.has_room()) return true;
  std::array<char, 65'536> buffer;
  const ssize_t count = ::recv(from.get(), buffer.data(), buffer.size(), 0);
  if (count > 0) flow.waiting.assign(buffer.data(), static_cast<std::size_t>(count));
  if (count == 0) flow.ended = true;
  return count >= 0 || would_block();
}

// Takes what was written out of `flow`.
bool write_some(const FileDescriptor& to, Flow& flow, std::size_t at_most) {
  const std::size_t length = std::min(flow.waiting.size(), at_most);
  if (length > 0) {
    const ssize_t count = ::send(to.get(), flow.waiting.data(), length, MSG_NOSIGNAL);
    if (count < 0) return would_block();
    flow.waiting.erase(0, static_cast<std::size_t>(count));
  }
  if (flow.ended && flow.waiting.empty() && !flow.closed) {
    ::shutdown(to.get(), SHUT_WR);
    flow.closed = true;
  }
  return true;
}

void add(std::vector<pollfd>& watched, const FileDescriptor& socket, int events) {
  if (events == 0) return;  // would still tell of errors, again and again
  watched.push_back({.fd = socket.get(), .events = static_cast<short>(events), .revents = 0});
}

}  // namespace

struct NetworkProxy::Connection {
  FileDescriptor client;  // none: was reset, and the server has yet to hang up
  FileDescriptor server;
  Flow to_server;
  Flow to_client;
  bool lost_answer = false;
};

NetworkProxy::NetworkProxy(int server_port)
    : server_port_(server_port),
      listener_(make_socket()),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  sockaddr_in address = local_address(0);
  auto* const pointer = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (!wake_ || ::bind(listener_.get(), pointer, length) != 0 ||
      ::listen(listener_.get(), kBacklog) != 0 ||
      ::getsockname(listener_.get(), pointer, &length) != 0) {
    throw std::runtime_error(std::string("cannot listen on a port of 127.0.0.1: ") +
                             std::strerror(errno));
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

NetworkProxy::~NetworkProxy() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

void NetworkProxy::cut() {
  const MutexLock lock(mutex_);
  cut_ = true;
  wake();
}

void NetworkProxy::drop_answers() {
  const MutexLock lock(mutex_);
  dropping_ = true;
  answer_dropped_ = false;
  wake();
}

void NetworkProxy::heal() {
  const MutexLock lock(mutex_);
  cut_ = false;
  dropping_ = false;
  bytes_left_.reset();
  std::erase_if(connections_, [](const std::unique_ptr<Connection>& connection) {
    if (!connection->client || !connection->lost_answer) return false;
    reset_peer(connection->client);
    reset_peer(connection->server);
    return true;
  });
  changed_.notify_all();
  wake();
}

void NetworkProxy::reset() {
  const MutexLock lock(mutex_);
  for (;;) {  // those that nobody has accepted yet
    FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) break;
    reset_peer(client);
  }
  for (const std::unique_ptr<Connection>& connection : connections_) {
    if (connection->client) reset_peer(connection->client);
    reset_peer(connection->server);
  }
  connections_.clear();
  changed_.notify_all();
  wake();
}

void NetworkProxy::cut_after_bytes_to_server(std::uint64_t count) {
  const MutexLock lock(mutex_);
  bytes_left_ = count;
  answer_dropped_ = false;
  if (count == 0) reset_clients();
  wake();
}

std::uint64_t NetworkProxy::bytes_to_server() const {
  const MutexLock lock(mutex_);
  return bytes_to_server_;
}

std::uint64_t NetworkProxy::connections() const {
  const MutexLock lock(mutex_);
  return accepted_;
}

bool NetworkProxy::wait_until_answer_dropped(Duration at_most) {
  const Time deadline = std::chrono::steady_clock::now() + at_most;
  const MutexLock lock(mutex_);
  while (!answer_dropped_ && changed_.wait_until(mutex_, deadline)) {
  }
  return answer_dropped_;
}

bool NetworkProxy::wait_until_server_hung_up(Duration at_most) {
  const Time deadline = std::chrono::steady_clock::now() + at_most;
  const MutexLock lock(mutex_);
  while (!connections_.empty() && changed_.wait_until(mutex_, deadline)) {
  }
  return connections_.empty();
}

void NetworkProxy::run() {
  std::vector<pollfd> watched;
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      watch(watched);
    }
    // What is watched may be closed meanwhile, and its number be another's: so whatever this says
    // only means that it is time to try.
    ::poll(watched.data(), watched.size(), -1);
    const MutexLock lock(mutex_);
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
    if (!cut_) accept_clients();
    move_all();
  }
}

void NetworkProxy::wake() const {
  ::eventfd_write(wake_.get(), 1);
}

void NetworkProxy::watch(std::vector<pollfd>& watched) const {
  watched.clear();
  add(watched, wake_, POLLIN);
  if (!cut_) add(watched, listener_, POLLIN);
  for (const std::unique_ptr<Connection>& connection : connections_) {
    const Flow& to_server = connection->to_server;
    const Flow& to_client = connection->to_client;
    if (!connection->client) {
      add(watched, connection->server, POLLIN);
    } else if (!cut_) {
      add(watched, connection->client,
          (to_server.has_room() ? POLLIN : 0) | (to_client.waiting.empty() ? 0 : POLLOUT));
      add(watched, connection->server,
          (to_client.has_room() ? POLLIN : 0) | (to_server.waiting.empty() ? 0 : POLLOUT));
    }
  }
}

void NetworkProxy::accept_clients() {
  for (;;) {
    FileDescriptor client(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) return;
    ++accepted_;
    FileDescriptor server = make_socket();
    MUSTER_ASSERT(static_cast<bool>(server), "no socket is left", errno);
    send_without_delay(client);
    send_without_delay(server);
    // Whether it is refused shows when the first byte is to move.
    const sockaddr_in address = local_address(server_port_);
    (void)::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->client = std::move(client);
    connections_.back()->server = std::move(server);
  }
}

void NetworkProxy::move_all() {
  const std::size_t before = connections_.size();
  for (std::unique_ptr<Connection>& connection : connections_) {
    const Fate fate = move(*connection);
    if (fate == Fate::goes_on) continue;
    if (fate == Fate::is_broken) {
      if (connection->client) reset_peer(connection->client);
      reset_peer(connection->server);
    }
    connection.reset();
  }
  std::erase(connections_, nullptr);
  if (connections_.size() != before) changed_.notify_all();
}

NetworkProxy::Fate NetworkProxy::move(Connection& connection) {
  if (cut_ && connection.client) return Fate::goes_on;
  if (connection.client && move_to_server(connection) == Fate::is_broken) return Fate::is_broken;
  return move_to_client(connection);
}

NetworkProxy::Fate NetworkProxy::move_to_server(Connection& connection) {
  Flow& flow = connection.to_server;
  if (!read_some(connection.client, flow)) return Fate::is_broken;
  const std::size_t before = flow.waiting.size();
  const std::size_t at_most = bytes_left_ ? std::min<std::uint64_t>(before, *bytes_left_) : before;
  if (!write_some(connection.server, flow, at_most)) return Fate::is_broken;
  const std::size_t moved = before - flow.waiting.size();
  bytes_to_server_ += moved;
  if (bytes_left_) {
    *bytes_left_ -= moved;
    if (*bytes_left_ == 0) reset_clients();
  }
  return Fate::goes_on;
}

NetworkProxy::Fate NetworkProxy::move_to_client(Connection& connection) {
  Flow& flow = connection.to_client;
  const bool loses = dropping_ || !connection.client;
  if (!read_some(connection.server, flow)) return Fate::is_broken;
  if (loses && !flow.waiting.empty()) {
    flow.waiting.clear();
    connection.lost_answer = true;
    answer_dropped_ = true;
    changed_.notify_all();
  }
  if (!connection.client) return flow.ended ? Fate::is_over : Fate::goes_on;
  if (!write_some(connection.client, flow, flow.waiting.size())) return Fate::is_broken;
  return flow.closed && connection.to_server.closed ? Fate::is_over : Fate::goes_on;
}

// What the server was sent stays on its way to it, which a reset would endanger.
void NetworkProxy::reset_clients() {
  bytes_left_.reset();
  for (const std::unique_ptr<Connection>& connection : connections_) {
    if (connection == nullptr || !connection->client) continue;
    reset_peer(connection->client);
    ::shutdown(connection->server.get(), SHUT_WR);
  }
}

}  // namespace muster::testing
