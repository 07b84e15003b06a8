// command_link.cpp: two pipes that do not wait, and a session between them.
#include "processes/command_link.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iterator>
#include <limits>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <muster/error.hpp>

namespace muster {
namespace {

// At once, so that one who writes without end does not keep others waiting. More than a socket
// holds.
constexpr unsigned kMostReads = 16;

struct Pair {
  FileDescriptor ours;
  FileDescriptor theirs;
};

// Sockets, since writing to one whose reader is gone can be told not to send SIGPIPE. To a worker
// they read and write like pipes.
Pair make_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw SystemFailure("make a pair of sockets for a worker", errno, "close descriptors");
  }
  Pair pair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  (void)fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

void append(std::vector<CommandEvent>& all, std::vector<CommandEvent> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<BadField> command_problems(const CommandOptions& options, std::string_view name,
                                       const Bytes& payload) {
  const CommandRequest request{.id = std::numeric_limits<std::uint64_t>::max(),  // the longest
                               .task = name,
                               .payload = payload.text(),
                               .form = options.payload_form};
  std::vector<BadField> bad = validate(request, options.max_request_bytes);
  for (BadField& problem : bad) {
    if (problem.field == "task") problem.field = "name";
  }
  return bad;
}

CommandLink::CommandLink(const CommandOptions& options, std::size_t prefetch)
    : form_(options.payload_form),
      splitter_(options.max_line_bytes),
      session_({.prefetch = prefetch,
                .max_silence = options.max_silence,
                .max_other_lines = options.max_other_lines}) {
  Pair input = make_pair();
  Pair output = make_pair();
  (void)shutdown(input.ours.get(), SHUT_RD);
  (void)shutdown(output.theirs.get(), SHUT_RD);
  input_ = std::move(input.ours);
  output_ = std::move(output.ours);
  worker_ends_ = {std::move(input.theirs), std::move(output.theirs)};
}

void CommandLink::send(const TaskOrder& order, Time now) {
  // Written first: if that throws, the session must not know of it.
  const CommandRequest request{
      .id = session_.next_id(), .task = order.name, .payload = order.payload.text(), .form = form_};
  unsent_ += write_request(request);
  (void)session_.give(order.id, now);
  flush();
}

void CommandLink::close_input() {
  closes_ = true;
  flush();
}

void CommandLink::flush() {
  while (!unsent_.empty() && input_) {
    const ssize_t sent = ::send(input_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) {  // it reads no more; its end or its silence will tell
      unsent_.clear();
      break;
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  if (closes_) input_.reset();
}

std::vector<CommandEvent> CommandLink::receive(Time now) {
  std::vector<CommandEvent> all;
  const auto take = [&](const SplitLine& line) {
    if (!session_.is_over()) append(all, session_.take(line, now));
  };
  std::array<char, 65'536> buffer;
  for (unsigned reads = 0; reads < kMostReads && output_ && !session_.is_over(); ++reads) {
    const ssize_t count = read(output_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count > 0) {
      splitter_.feed({buffer.data(), static_cast<std::size_t>(count)}, take);
      continue;
    }
    append(all, end_output(now));
  }
  return all;
}

std::vector<CommandEvent> CommandLink::finish(Time now) {
  std::vector<CommandEvent> all = receive(now);
  append(all, end_output(now));
  return all;
}

std::vector<CommandEvent> CommandLink::end_output(Time now) {
  std::vector<CommandEvent> all;
  splitter_.finish([&](const SplitLine& line) {
    if (!session_.is_over()) append(all, session_.take(line, now));
  });
  if (!session_.is_over()) append(all, session_.end());
  output_.reset();
  return all;
}

}  // namespace muster
