// command_lines.hpp: the lines that a pool and a command worker exchange, one JSON object each.
//
//     {"id":7,"task":"resize","payload":"a.png"}          the pool, to standard input
//     {"id":7,"ok":"done"}                                the worker, to standard output
//     {"id":7,"error":"no such file"}                     or so
//     {"id":7,"progress":0.5,"text":"half way"}           as often as it likes
//     {"heartbeat":true,"memory_bytes":1048576}           the same; the second field may be missing
//
// Payloads and results are bytes, and each byte arrives as it was. `payload` is a string if the
// bytes are text, that is well-formed UTF-8, whatever is written in it; otherwise
// `payload_base64` stands in its place. A result is the text of `ok` if that is a string, the bytes
// that `ok_base64` stands for, or, if `ok` is any other value, its JSON as the worker wrote it. So
// what a task gets never depends on what its text happens to look like: 12 and [] and null arrive
// as strings. Who wants values instead asks for PayloadForm::json.
//
// A request has its fields in the order above and no white space between them, so that programs
// without a reader of JSON can take it apart. Of what a worker writes, fields that are not named
// here are ignored. A line that does not begin with "{", and an object that has none of these
// fields, is no line of the protocol but output of something else in the worker.
//
// Thread safety: values and pure functions.
// Design note: docs/guides/command_workers.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/error.hpp>
#include <muster/processes/line_splitter.hpp>

namespace muster {

// How a payload is written.
enum class PayloadForm {
  text,    // a string, or base64 if it is not text
  json,    // it is JSON, and becomes part of the line, digit by digit; white space may change
  base64,  // always as payload_base64; for workers that cannot read a string, such as shells
};

struct CommandRequest {
  std::uint64_t id = 0;
  std::string_view task;
  std::string_view payload;
  PayloadForm form = PayloadForm::text;
};

// Every reason why this is no line of at most so many bytes, its end included; empty: it is one.
// The task's name must be UTF-8, and the payload, if it is to be JSON, at most 63 levels deep.
[[nodiscard]] MUSTER_API std::vector<BadField> validate(const CommandRequest& request,
                                                        std::size_t max_request_bytes);

// One line with its end, as long as it gets. Throws InvalidArgument, for the reasons above.
[[nodiscard]] MUSTER_API std::string write_request(const CommandRequest& request);

// The task is done.
struct AnswerLine {
  std::uint64_t id = 0;
  std::string bytes;

  bool operator==(const AnswerLine&) const = default;
};

// The task has failed. The text of `error` is made as that of `ok`.
struct ErrorLine {
  std::uint64_t id = 0;
  std::string text;

  bool operator==(const ErrorLine&) const = default;
};

// The task goes on.
struct ProgressLine {
  std::uint64_t id = 0;
  double fraction = 0;  // from 0 to 1, whatever was written
  std::string text;     // an excerpt

  bool operator==(const ProgressLine&) const = default;
};

// The worker lives.
struct HeartbeatLine {
  std::optional<std::uint64_t> memory_bytes = {};

  bool operator==(const HeartbeatLine&) const = default;
};

// It was meant as one of the above, but cannot be read: no JSON, too long, a field twice or of the
// wrong type, none or two of `ok`, `ok_base64`, `error`, `progress` and `heartbeat`.
struct MalformedLine {
  std::optional<std::uint64_t> id = {};  // of the task that it is about, if that is certain
  std::string problem;                   // with an excerpt of the line

  bool operator==(const MalformedLine&) const = default;
};

// It was not.
struct OtherLine {
  bool operator==(const OtherLine&) const = default;
};

using CommandLine =
    std::variant<AnswerLine, ErrorLine, ProgressLine, HeartbeatLine, MalformedLine, OtherLine>;

// Of a line that the stream's end left unfinished too: an object that is whole was not cut.
[[nodiscard]] MUSTER_API CommandLine read_command_line(const SplitLine& line);

inline constexpr std::size_t kMaxExcerptBytes = 200;

// The beginning of a line, for a message: well-formed text without control characters. Says how
// long it was if it was longer.
[[nodiscard]] MUSTER_API std::string excerpt(std::string_view line);

}  // namespace muster
