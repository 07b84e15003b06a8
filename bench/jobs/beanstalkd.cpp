// beanstalkd.cpp: commands and answers.
#include "jobs/beanstalkd.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>

#include "jobs/peer_server.hpp"

namespace muster::bench {
namespace {

[[noreturn]] void refuse(const std::string& answer) {
  throw std::runtime_error("beanstalkd answers \"" + answer + "\"");
}

}  // namespace

Beanstalkd::Beanstalkd(int port) : socket_(connect_to(port)) {}

void Beanstalkd::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) throw std::system_error(errno, std::generic_category(), "send to beanstalkd");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Beanstalkd::receive() {
  std::array<char, 1 << 16> part{};
  const ssize_t size = recv(socket_.get(), part.data(), part.size(), 0);
  if (size <= 0) throw std::system_error(errno, std::generic_category(), "receive from beanstalkd");
  received_.erase(0, read_);
  read_ = 0;
  received_.append(part.data(), static_cast<std::size_t>(size));
}

std::string Beanstalkd::read_line() {
  for (;;) {
    const std::size_t end = received_.find("\r\n", read_);
    if (end != std::string::npos) {
      std::string line = received_.substr(read_, end - read_);
      read_ = end + 2;
      return line;
    }
    receive();
  }
}

void Beanstalkd::skip(std::size_t bytes) {
  while (received_.size() - read_ < bytes) receive();
  read_ += bytes;
}

void Beanstalkd::put(std::span<const EncodedJob> jobs) {
  std::string commands;
  for (const EncodedJob& job : jobs) {
    commands += "put 0 0 60 " + std::to_string(job.event.size()) + "\r\n" + job.event + "\r\n";
  }
  send(commands);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string answer = read_line();
    if (!answer.starts_with("INSERTED ")) refuse(answer);
  }
}

std::size_t Beanstalkd::run(std::size_t most) {
  std::string commands;
  for (std::size_t i = 0; i < most; ++i) commands += "reserve-with-timeout 0\r\n";
  send(commands);
  std::size_t jobs = 0;
  commands.clear();
  for (std::size_t i = 0; i < most; ++i) {
    const std::string answer = read_line();
    if (answer == "TIMED_OUT") continue;
    if (!answer.starts_with("RESERVED ")) refuse(answer);
    const std::size_t id = answer.find(' ') + 1;
    const std::size_t size = answer.find(' ', id) + 1;
    skip(std::stoul(answer.substr(size)) + 2);
    commands += "delete " + answer.substr(id, size - 1 - id) + "\r\n";
    ++jobs;
  }
  send(commands);
  for (std::size_t i = 0; i < jobs; ++i) {
    const std::string answer = read_line();
    if (answer != "DELETED") refuse(answer);
  }
  return jobs;
}

}  // namespace muster::bench
