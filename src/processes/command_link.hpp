// command_link.hpp: the pipes to and from one command worker.
//
// Nothing here waits: what the worker's input has no room for is kept until it has. How much that
// can be is bounded by the tasks that a worker may have at once, and by max_request_bytes for each.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <muster/processes/command_session.hpp>
#include <muster/processes/file_descriptor.hpp>
#include <muster/processes/line_splitter.hpp>

#include "processes/process_task.hpp"

namespace muster {

// Every reason why such workers cannot be sent this task, in the words of exec(); empty: none.
[[nodiscard]] std::vector<BadField> command_problems(const CommandOptions& options,
                                                     std::string_view name, const Bytes& payload);

class CommandLink {
 public:
  // The worker's ends are given to it; close them once it has its copies.
  struct Ends {
    FileDescriptor input;
    FileDescriptor output;
  };

  // Throws SystemFailure if there are no pipes to be had.
  explicit CommandLink(const CommandOptions& options, std::size_t prefetch);

  [[nodiscard]] Ends& worker_ends() noexcept { return worker_ends_; }
  [[nodiscard]] const CommandSession& session() const noexcept { return session_; }

  // Requires: session().has_room(), and a task without command_problems(); else InvalidArgument is
  // thrown if it cannot be written.
  void send(const TaskOrder& order, Time now);

  // No more tasks: the worker should end when it has answered.
  void close_input();

  // To poll for, and to call when there is something to be done.
  [[nodiscard]] int output() const noexcept { return output_.get(); }
  [[nodiscard]] int input() const noexcept { return input_.get(); }
  [[nodiscard]] bool has_unsent() const noexcept { return !unsent_.empty(); }
  void flush();
  [[nodiscard]] std::vector<CommandEvent> receive(Time now);

  // The same when the worker is dead, and its output at its end, whoever still has a copy of it.
  [[nodiscard]] std::vector<CommandEvent> finish(Time now);
  [[nodiscard]] std::vector<CommandEvent> look(Time now) { return session_.look(now); }

 private:
  std::vector<CommandEvent> end_output(Time now);

  const PayloadForm form_;
  Ends worker_ends_;
  FileDescriptor input_;   // its standard input, for us to write
  FileDescriptor output_;  // its standard output, for us to read
  std::string unsent_;
  bool closes_ = false;
  LineSplitter splitter_;
  CommandSession session_;
};

}  // namespace muster
