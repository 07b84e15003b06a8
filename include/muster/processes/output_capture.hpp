// output_capture.hpp: what workers write to their outputs, line by line.
//
//     OutputCapture capture({.on_line = [](const OutputLine& line) { ... }});
//     FileDescriptor end = capture.open(7, OutputStream::standard_output);
//     options.standard_output = end.get();       // and launch; then `end` may go
//     ...
//     capture.finish(7);                         // the worker is dead
//
// A thread of its own reads the pipes, so that nothing but output waits for a slow callback. While
// that is slow nothing is read: a worker can write as much as its pipe holds (64 KiB), then it
// waits. Nothing is dropped but what is too long for a line.
//
// Lines of one stream come in their order. Between the two streams of a worker there is none.
//
// Thread safety: members may be called from any thread, but stop() and the destructor not from the
// callback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/error.hpp>
#include <muster/processes/file_descriptor.hpp>

namespace muster {

enum class OutputStream { standard_output, standard_error };

// Valid during the call of the callback only.
struct OutputLine {
  std::uint64_t worker = 0;
  OutputStream stream = OutputStream::standard_output;
  std::string_view text = {};  // without the line's end
  std::size_t cut_bytes = 0;   // that the line had beyond max_line_bytes
  bool is_unfinished = false;  // the worker ended, or closed the stream, before the line did
};

struct OutputOptions {
  // Called for each line, one at a time. Must be given. What it throws is logged and dropped.
  std::function<void(const OutputLine&)> on_line = {};

  // Called when there is room again after has_room() has said that there is not. May be left out.
  std::function<void()> on_room = {};

  // What a line has beyond this is cut, and counted. At least 1. Each stream may keep as much.
  std::size_t max_line_bytes = 65'536;
};

// Every problem with the options; empty: none.
[[nodiscard]] MUSTER_API std::vector<BadField> validate(const OutputOptions& options);

class MUSTER_API OutputCapture {
 public:
  // Throws InvalidArgument, SystemFailure.
  explicit OutputCapture(OutputOptions options);
  ~OutputCapture();
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;

  // The end of a new pipe for a worker to write to. Close it once the worker has its copy. Throws
  // SystemFailure; Stopped after stop().
  [[nodiscard]] FileDescriptor open(std::uint64_t worker, OutputStream stream);

  // Hands over what a dead worker has left in its pipes, its last unfinished lines included, and
  // lets go of them, even if a process that it has left behind could still write. Does not wait
  // for that. Of no use for streams that all their writers have closed: these end by themselves.
  void finish(std::uint64_t worker);

  // Has a line that somebody else has read handed over like the others, by the same thread. Takes
  // any, but who reads them should not go on while there is no room.
  void tell(const OutputLine& line);

  // False: much of what was told waits to be handed over; OutputOptions::on_room is called when it
  // has been.
  [[nodiscard]] bool has_room();

  // finish() for all workers, and what was told is handed over; waits for it. Safe twice.
  void stop();

 private:
  class Reader;
  const std::unique_ptr<Reader> reader_;
};

}  // namespace muster
