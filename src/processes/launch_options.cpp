// launch_options.cpp: what can be known to be wrong before a process is started.
#include <fcntl.h>
#include <string_view>

#include <muster/processes/launch_options.hpp>

#include "processes/spawn_frames.hpp"

namespace muster {
namespace {

// A text that the kernel would cut at its first zero byte.
void check_text(const std::string& field, const std::string& text, std::vector<BadField>& bad) {
  if (text.find('\0') != std::string::npos) {
    bad.push_back({field, '"' + text + '"', "must not hold a zero byte"});
  }
}

void check_environment(const LaunchOptions& options, std::vector<BadField>& bad) {
  for (const EnvironmentVariable& variable : options.environment) {
    if (variable.name.empty() || variable.name.find('=') != std::string::npos) {
      bad.push_back({"environment", '"' + variable.name + '"',
                     "must have names that are not empty and hold no \"=\""});
    }
    check_text("environment", variable.name, bad);
    check_text("environment", variable.value, bad);
  }
}

void check_descriptor(const char* field, int descriptor, std::vector<BadField>& bad) {
  if (fcntl(descriptor, F_GETFD) < 0) {
    bad.push_back({field, std::to_string(descriptor), "must be an open descriptor"});
  }
}

void check_descriptors(const LaunchOptions& options, std::vector<BadField>& bad) {
  const auto check_optional = [&bad](const char* field, int descriptor) {
    if (descriptor != -1) check_descriptor(field, descriptor, bad);
  };
  check_optional("standard_input", options.standard_input);
  check_optional("standard_output", options.standard_output);
  check_optional("standard_error", options.standard_error);
  for (const int descriptor : options.descriptors) {
    check_descriptor("descriptors", descriptor, bad);
  }
  if (options.descriptors.size() > kMaxPassedDescriptors) {
    bad.push_back({"descriptors", std::to_string(options.descriptors.size()),
                   "must be at most " + std::to_string(kMaxPassedDescriptors)});
  }
}

void check_limits(const LaunchOptions& options, std::vector<BadField>& bad) {
  const ProcessLimits& limits = options.limits;
  if (limits.memory_bytes && *limits.memory_bytes < 1) {
    bad.push_back({"memory_bytes", "0", "must be at least 1"});
  }
  if (limits.cpu_time && limits.cpu_time->count() < 1) {
    bad.push_back(
        {"cpu_time", std::to_string(limits.cpu_time->count()) + " s", "must be at least 1 s"});
  }
  // One more than it is given, or it could not even load its libraries.
  const std::size_t least = 3 + options.descriptors.size() + 1;
  if (limits.open_files && *limits.open_files < least) {
    bad.push_back({"open_files", std::to_string(*limits.open_files),
                   "must be at least " + std::to_string(least) + " with what it is given"});
  }
}

void check_range(const char* field, int value, int least, int most, std::vector<BadField>& bad) {
  if (value >= least && value <= most) return;
  bad.push_back({field, std::to_string(value),
                 "must be from " + std::to_string(least) + " to " + std::to_string(most)});
}

}  // namespace

std::vector<BadField> validate(const LaunchOptions& options) {
  std::vector<BadField> bad;
  check_text("program", options.program, bad);
  for (const std::string& argument : options.arguments) check_text("arguments", argument, bad);
  check_environment(options, bad);
  check_text("working_directory", options.working_directory, bad);
  if (options.writable_paths) {
    for (const std::string& path : *options.writable_paths) {
      check_text("writable_paths", path, bad);
      if (path.empty()) bad.push_back({"writable_paths", "\"\"", "must not be empty"});
    }
  }
  check_descriptors(options, bad);
  check_limits(options, bad);
  check_range("nice", options.nice, -40, 39, bad);
  if (options.oom_score_adj) {
    check_range("oom_score_adj", *options.oom_score_adj, -1000, 1000, bad);
  }
  const std::size_t bytes = encode_launch(0, options).size();
  if (bytes > kMaxLaunchBytes) {
    bad.push_back({"arguments and environment", std::to_string(bytes) + " bytes",
                   "must be at most " + std::to_string(kMaxLaunchBytes) + " bytes"});
  }
  return bad;
}

}  // namespace muster
