// line_socket.hpp: lines of text over TCP on loopback, with bounds on their length and on waiting.
//
// Thread safety: a LineSocket belongs to one thread at a time; a StopSignal to all of them.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <muster/error.hpp>

// `result` of a system call that says -1 if it has failed.
inline int check(int result, const std::string& attempt) {
  if (result < 0) throw muster::SystemFailure(attempt, errno, "");
  return result;
}

// A file descriptor that is closed in the end.
class Descriptor {
 public:
  explicit Descriptor(int open) : number_(open) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

// Tells all threads that wait for input to come to an end.
class StopSignal {
 public:
  enum class Saw { input, stop, nothing };

  void give() { check(eventfd_write(event_.number(), 1), "signal the stop"); }

  // For input at `socket`; at -1 there never is any.
  [[nodiscard]] Saw wait(int socket, std::chrono::milliseconds at_most) const {
    std::array<pollfd, 2> watched{{{socket, POLLIN, 0}, {event_.number(), POLLIN, 0}}};
    int found = -1;
    do {
      found = poll(watched.data(), watched.size(), static_cast<int>(at_most.count()));
    } while (found < 0 && errno == EINTR);
    check(found, "wait for input");
    if (watched[1].revents != 0) return Saw::stop;
    return found == 0 ? Saw::nothing : Saw::input;
  }

 private:
  const Descriptor event_{check(eventfd(0, EFD_CLOEXEC), "make an eventfd")};
};

// Either end of a connection.
class LineSocket {
 public:
  enum class Heard { line, end, too_long, silence, stop };

  static constexpr std::size_t kLongestLine = 512;
  static constexpr std::chrono::seconds kPatience{10};  // with a peer that says nothing

  explicit LineSocket(Descriptor socket) : socket_(std::move(socket)) {}

  // Waits. Sets `line` if one was heard.
  Heard read(std::string& line, const StopSignal& stop) {
    for (;;) {
      if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
        line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return Heard::line;
      }
      if (received_.size() > kLongestLine) return Heard::too_long;
      const StopSignal::Saw saw = stop.wait(socket_.number(), kPatience);
      if (saw == StopSignal::Saw::stop) return Heard::stop;
      if (saw == StopSignal::Saw::nothing) return Heard::silence;
      std::array<char, 1024> bytes{};
      const ssize_t count = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) return Heard::end;  // closed, or reset: the peer has gone either way
      received_.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }

  enum class Told { yes, no };

  // Never waits. No: the peer has gone, or does not read what it is told.
  Told write(const std::string& text) {
    const ssize_t count =
        send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return count == static_cast<ssize_t>(text.size()) ? Told::yes : Told::no;
  }

 private:
  Descriptor socket_;
  std::string received_;
};

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A socket where connections come in, at a port that the kernel chooses. accept() never waits.
inline Descriptor listen_on_loopback() {
  Descriptor socket{
      check(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "make a socket")};
  const sockaddr_in address = loopback(0);
  check(bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
        "bind to loopback");
  check(listen(socket.number(), SOMAXCONN), "listen");
  return socket;
}

inline std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  check(getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size),
        "learn the port");
  return ntohs(address.sin_port);
}

inline LineSocket connect_to(std::uint16_t port) {
  Descriptor socket{check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "make a socket")};
  const sockaddr_in address = loopback(port);
  check(connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
        "connect to port " + std::to_string(port));
  return LineSocket(std::move(socket));
}
