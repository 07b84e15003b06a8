// command_lines.cpp: from bytes to a line, and from a line to what it says.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <muster/base/utf8.hpp>
#include <muster/processes/command_lines.hpp>

#include "processes/base64.hpp"
#include "processes/json_text.hpp"

namespace muster {
namespace {

// Objects and arrays within each other, the line's own object included.
constexpr std::size_t kMaxLineDepth = 64;

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

// What makes it no line at all, however long.
std::vector<BadField> form_problems(const CommandRequest& request) {
  std::vector<BadField> bad;
  if (!is_utf8(request.task)) {
    bad.push_back({"task", quoted(excerpt(request.task)), "must be UTF-8"});
  }
  if (request.form == PayloadForm::json) {
    const std::string problem = json_problem(request.payload, kMaxLineDepth - 1);
    if (!problem.empty()) {
      bad.push_back({"payload", quoted(excerpt(request.payload)), "must be JSON: " + problem});
    }
  }
  return bad;
}

// A request is what stands before the payload, the payload, and its end. Requires of all three: it
// has no form_problems().
constexpr std::string_view kRequestEnd = "}\n";

PayloadForm written_form(const CommandRequest& request) {
  if (request.form != PayloadForm::text || is_utf8(request.payload)) return request.form;
  return PayloadForm::base64;
}

std::string request_begin(const CommandRequest& request, PayloadForm form) {
  return R"({"id":)" + std::to_string(request.id) + R"(,"task":)" + to_json_string(request.task) +
         (form == PayloadForm::base64 ? R"(,"payload_base64":)" : R"(,"payload":)");
}

std::string written_payload(std::string_view payload, PayloadForm form) {
  if (form == PayloadForm::text) return to_json_string(payload);
  if (form == PayloadForm::base64) return quoted(to_base64(payload));
  std::string json(payload);
  std::replace_if(json.begin(), json.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return json;
}

std::size_t request_bytes(const CommandRequest& request) {
  const PayloadForm form = written_form(request);
  const std::size_t around = request_begin(request, form).size() + kRequestEnd.size();
  if (form == PayloadForm::text) return around + json_string_bytes(request.payload);
  if (form == PayloadForm::base64) return around + base64_bytes(request.payload.size()) + 2;
  return around + request.payload.size();
}

// Is it so far from the bound that nothing need be counted?
bool is_surely_shorter(const CommandRequest& request, std::size_t max_request_bytes) {
  constexpr std::size_t kMostAround = 64;  // all that is neither name nor payload
  constexpr std::size_t kMostPerByte = 6;  // \u0001
  return request.task.size() + request.payload.size() <=
         (std::max(max_request_bytes, kMostAround) - kMostAround) / kMostPerByte;
}

std::optional<std::uint64_t> whole_number(std::string_view written) {
  std::uint64_t number = 0;
  const char* const end = written.data() + written.size();
  const auto [stop, error] = std::from_chars(written.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

bool is_string(std::string_view written) {
  return written.front() == '"';
}

// What the bytes of a result are, and the text of an error.
std::string text_of(std::string_view written) {
  return is_string(written) ? json_string(written) : std::string(written);
}

// Those of the protocol; the first five say what a line is.
enum class Field { ok, ok_base64, error, progress, heartbeat, id, text, memory_bytes };
constexpr std::size_t kKinds = 5;
constexpr std::array<std::string_view, 8> kNames = {
    "ok", "ok_base64", "error", "progress", "heartbeat", "id", "text", "memory_bytes"};

std::string_view name_of(Field field) {
  return kNames[static_cast<std::size_t>(field)];
}

std::string names_of_kinds() {
  std::string names;
  for (std::size_t i = 0; i < kKinds; ++i) names += (i == 0 ? "" : ", ") + quoted(kNames[i]);
  return names;
}

// What an object says. Requires: it is JSON, and an object.
class ObjectReader {
 public:
  explicit ObjectReader(std::string_view object) {
    JsonMembers members(object);
    while (const auto member = members.next()) {
      const auto* const name = std::find(kNames.begin(), kNames.end(), json_string(member->key));
      if (name == kNames.end()) continue;
      const auto index = static_cast<std::size_t>(name - kNames.begin());
      if (!fields_[index].empty()) twice_ = static_cast<Field>(index);
      fields_[index] = member->value;
    }
  }

  CommandLine read() {
    const auto kinds = std::count_if(fields_.begin(), fields_.begin() + kKinds,
                                     [](std::string_view field) { return !field.empty(); });
    if (kinds == 0 && !has(Field::id)) return OtherLine{};
    if (twice_ != Field::id) id_ = whole_number(at(Field::id));
    if (twice_) return malformed("it has " + quoted(name_of(*twice_)) + " twice");
    if (kinds > 1) return malformed("it has more than one of " + names_of_kinds());
    if (has(Field::heartbeat)) return read_heartbeat();
    if (!has(Field::id)) return malformed("it has no \"id\"");
    if (!id_) return must_be(Field::id, "a whole number from 0 to 18446744073709551615");
    if (kinds == 0) return malformed("it has an id but none of " + names_of_kinds());
    if (has(Field::progress)) return read_progress(*id_);
    if (has(Field::ok_base64)) return read_base64(*id_);
    if (has(Field::error)) return ErrorLine{.id = *id_, .text = text_of(at(Field::error))};
    return AnswerLine{.id = *id_, .bytes = text_of(at(Field::ok))};
  }

 private:
  [[nodiscard]] std::string_view at(Field field) const {
    return fields_[static_cast<std::size_t>(field)];
  }
  [[nodiscard]] bool has(Field field) const { return !at(field).empty(); }

  [[nodiscard]] CommandLine malformed(std::string problem) const {
    return MalformedLine{.id = id_, .problem = std::move(problem)};
  }
  [[nodiscard]] CommandLine must_be(Field field, std::string_view rule) const {
    return malformed(quoted(name_of(field)) + " is " + excerpt(at(field)) + " but must be " +
                     std::string(rule));
  }

  [[nodiscard]] CommandLine read_base64(std::uint64_t id) const {
    if (is_string(at(Field::ok_base64))) {
      if (auto bytes = from_base64(json_string(at(Field::ok_base64)))) {
        return AnswerLine{.id = id, .bytes = std::move(*bytes)};
      }
    }
    return must_be(Field::ok_base64, "a string of base64, with padding");
  }

  [[nodiscard]] CommandLine read_progress(std::uint64_t id) const {
    const std::string_view written = at(Field::progress);
    double fraction = 0;
    const auto [stop, error] =
        std::from_chars(written.data(), written.data() + written.size(), fraction);
    if (error != std::errc{}) return must_be(Field::progress, "a number from 0 to 1");
    const bool has_text = has(Field::text);
    if (has_text && !is_string(at(Field::text))) return must_be(Field::text, "a string");
    return ProgressLine{.id = id,
                        .fraction = std::clamp(fraction, 0.0, 1.0),
                        .text = has_text ? excerpt(json_string(at(Field::text))) : ""};
  }

  [[nodiscard]] CommandLine read_heartbeat() const {
    if (at(Field::heartbeat) != "true") return must_be(Field::heartbeat, "true");
    const auto memory = whole_number(at(Field::memory_bytes));
    if (has(Field::memory_bytes) && !memory) return must_be(Field::memory_bytes, "a whole number");
    return HeartbeatLine{.memory_bytes = memory};
  }

  std::array<std::string_view, kNames.size()> fields_;  // as written; empty: not there
  std::optional<Field> twice_;
  std::optional<std::uint64_t> id_;
};

// A line that is too long or broken further on cannot be read, but most say at once which task they
// are about.
std::optional<std::uint64_t> first_id(std::string_view line) {
  const auto first = JsonMembers(line).next();
  if (!first || first->key != "\"id\"") return std::nullopt;
  return whole_number(first->value);
}

CommandLine read_object(const SplitLine& line) {
  if (line.cut_bytes > 0) {
    return MalformedLine{
        .id = first_id(line.text),
        .problem = "it is too long: " + std::to_string(line.text.size() + line.cut_bytes) +
                   " bytes of at most " + std::to_string(line.text.size())};
  }
  const std::string problem = json_problem(line.text, kMaxLineDepth);
  if (!problem.empty()) {
    return MalformedLine{.id = first_id(line.text), .problem = "it is not JSON: " + problem};
  }
  return ObjectReader(line.text).read();
}

}  // namespace

std::vector<BadField> validate(const CommandRequest& request, std::size_t max_request_bytes) {
  std::vector<BadField> bad = form_problems(request);
  if (!bad.empty() || is_surely_shorter(request, max_request_bytes)) return bad;
  if (const std::size_t bytes = request_bytes(request); bytes > max_request_bytes) {
    bad.push_back({"payload", std::to_string(request.payload.size()) + " bytes",
                   "must fit into a line of max_request_bytes, " +
                       std::to_string(max_request_bytes) + ", not " + std::to_string(bytes)});
  }
  return bad;
}

std::string write_request(const CommandRequest& request) {
  if (auto bad = form_problems(request); !bad.empty()) throw InvalidArgument(std::move(bad));
  const PayloadForm form = written_form(request);
  std::string line = request_begin(request, form);
  line += written_payload(request.payload, form);
  return line += kRequestEnd;
}

CommandLine read_command_line(const SplitLine& line) {
  const std::size_t begin = line.text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos || line.text[begin] != '{') return OtherLine{};
  CommandLine read = read_object(line);
  if (auto* const malformed = std::get_if<MalformedLine>(&read)) {
    malformed->problem += ": " + excerpt(line.text);
  }
  return read;
}

std::string excerpt(std::string_view line) {
  std::string text;
  for (const char c : to_utf8(line.substr(0, kMaxExcerptBytes))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', "0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
    }
  }
  if (line.size() > kMaxExcerptBytes) text += "... (" + std::to_string(line.size()) + " bytes)";
  return text;
}

}  // namespace muster
