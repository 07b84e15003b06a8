// spawn_frames.cpp: numbers of fixed width and texts with their lengths, one after the other.
#include "processes/spawn_frames.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace muster {
namespace {

class Writer {
 public:
  void number(std::int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void number(std::uint64_t value) { number(static_cast<std::int64_t>(value)); }
  void number(int value) { number(static_cast<std::int64_t>(value)); }
  void text(const std::string& value) {
    number(static_cast<std::uint64_t>(value.size()));
    bytes_.append(value);
  }
  template <class Value>
  void optional(const std::optional<Value>& value) {
    number(value ? 1 : 0);
    number(value ? *value : Value{});
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After the first thing that is not there, all is zero and is_whole() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class Value = std::int64_t>
  Value number() {
    std::int64_t value = 0;
    if (bytes_.size() < sizeof value) return fail<Value>();
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return static_cast<Value>(value);
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    if (size > bytes_.size()) return fail<std::string>();
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  bool flag() { return number() != 0; }
  template <class Value>
  std::optional<Value> optional() {
    const bool has_value = flag();
    const auto value = number<Value>();
    if (!has_value) return std::nullopt;
    return value;
  }
  // How many of something follow, each of which takes at least one number.
  std::uint64_t count() {
    const auto count = number<std::uint64_t>();
    return count <= bytes_.size() / sizeof(std::int64_t) ? count : fail<std::uint64_t>();
  }
  // True if all that was asked for was there, and nothing else.
  bool is_whole() const { return is_good_ && bytes_.empty(); }

 private:
  template <class Value>
  Value fail() {
    is_good_ = false;
    bytes_ = {};
    return Value{};
  }

  std::string_view bytes_;
  bool is_good_ = true;
};

void write_limits(Writer& out, const ProcessLimits& limits) {
  out.optional(limits.memory_bytes);
  std::optional<std::int64_t> seconds;
  if (limits.cpu_time) seconds = limits.cpu_time->count();
  out.optional(seconds);
  out.optional(limits.open_files);
}

ProcessLimits read_limits(Reader& in) {
  ProcessLimits limits;
  limits.memory_bytes = in.optional<std::uint64_t>();
  if (const auto seconds = in.optional<std::int64_t>()) {
    limits.cpu_time = std::chrono::seconds(*seconds);
  }
  limits.open_files = in.optional<std::uint64_t>();
  return limits;
}

// Hands out the descriptors in the order in which descriptors_of() lists them.
class Handout {
 public:
  explicit Handout(const std::vector<FileDescriptor>& descriptors) : descriptors_(descriptors) {}

  int next() { return next_ < descriptors_.size() ? descriptors_[next_++].get() : missing(); }
  bool is_exact() const { return !is_short_ && next_ == descriptors_.size(); }

 private:
  int missing() {
    is_short_ = true;
    return -1;
  }

  const std::vector<FileDescriptor>& descriptors_;
  std::size_t next_ = 0;
  bool is_short_ = false;
};

}  // namespace

std::string encode_launch(std::uint64_t worker, const LaunchOptions& options) {
  Writer out;
  out.number(std::uint64_t{kSpawnVersion});
  out.number(worker);
  out.text(options.program);
  out.number(std::uint64_t{options.arguments.size()});
  for (const std::string& argument : options.arguments) out.text(argument);
  out.number(std::uint64_t{options.environment.size()});
  for (const EnvironmentVariable& variable : options.environment) {
    out.text(variable.name);
    out.text(variable.value);
  }
  out.number(options.inherit_environment ? 1 : 0);
  out.text(options.working_directory);
  for (const int standard :
       {options.standard_input, options.standard_output, options.standard_error}) {
    out.number(standard != -1 ? 1 : 0);
  }
  out.number(std::uint64_t{options.descriptors.size()});
  write_limits(out, options.limits);
  out.number(options.nice);
  out.optional(options.oom_score_adj);
  out.number(options.no_new_privileges ? 1 : 0);
  out.number(options.writable_paths ? 1 : 0);
  if (options.writable_paths) {
    out.number(std::uint64_t{options.writable_paths->size()});
    for (const std::string& path : *options.writable_paths) out.text(path);
  }
  return out.take();
}

std::vector<int> descriptors_of(const LaunchOptions& options) {
  std::vector<int> all;
  for (const int standard :
       {options.standard_input, options.standard_output, options.standard_error}) {
    if (standard != -1) all.push_back(standard);
  }
  all.insert(all.end(), options.descriptors.begin(), options.descriptors.end());
  return all;
}

std::optional<Launch> decode_launch(std::string_view bytes,
                                    const std::vector<FileDescriptor>& descriptors) {
  Reader in(bytes);
  if (in.number<std::uint64_t>() != kSpawnVersion) return std::nullopt;
  Launch launch;
  LaunchOptions& options = launch.options;
  launch.worker = in.number<std::uint64_t>();
  options.program = in.text();
  options.arguments.resize(in.count());
  for (std::string& argument : options.arguments) argument = in.text();
  options.environment.resize(in.count());
  for (EnvironmentVariable& variable : options.environment) {
    variable.name = in.text();
    variable.value = in.text();
  }
  options.inherit_environment = in.flag();
  options.working_directory = in.text();
  Handout handout(descriptors);
  for (int* const standard :
       {&options.standard_input, &options.standard_output, &options.standard_error}) {
    if (in.flag()) *standard = handout.next();
  }
  const auto passed = in.number<std::uint64_t>();
  if (passed > kMaxPassedDescriptors) return std::nullopt;
  options.descriptors.resize(passed);
  for (int& descriptor : options.descriptors) descriptor = handout.next();
  options.limits = read_limits(in);
  options.nice = in.number<int>();
  options.oom_score_adj = in.optional<int>();
  options.no_new_privileges = in.flag();
  if (in.flag()) {
    options.writable_paths.emplace(in.count());
    for (std::string& path : *options.writable_paths) path = in.text();
  }
  if (!in.is_whole() || !handout.is_exact()) return std::nullopt;
  return launch;
}

std::uint64_t worker_of_launch(std::string_view bytes) {
  Reader in(bytes);
  (void)in.number();  // the version
  return in.number<std::uint64_t>();
}

std::string encode_report(const Report& report) {
  Writer out;
  out.number(std::uint64_t{kSpawnVersion});
  out.number(static_cast<int>(report.kind));
  out.number(report.worker);
  out.number(report.pid);
  out.number(report.error_number);
  out.number(report.end.by_signal ? 1 : 0);
  out.number(report.end.number);
  out.number(report.end.dumped_core ? 1 : 0);
  out.text(report.text);
  return out.take();
}

std::optional<Report> decode_report(std::string_view bytes) {
  Reader in(bytes);
  if (in.number<std::uint64_t>() != kSpawnVersion) return std::nullopt;
  Report report;
  const auto kind = in.number<std::uint64_t>();
  if (kind > static_cast<std::uint64_t>(ReportKind::ended)) return std::nullopt;
  report.kind = static_cast<ReportKind>(kind);
  report.worker = in.number<std::uint64_t>();
  report.pid = in.number<std::int32_t>();
  report.error_number = in.number<std::int32_t>();
  report.end.by_signal = in.flag();
  report.end.number = in.number<int>();
  report.end.dumped_core = in.flag();
  report.text = in.text();
  if (!in.is_whole()) return std::nullopt;
  return report;
}

}  // namespace muster
