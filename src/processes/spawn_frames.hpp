// spawn_frames.hpp: what the pool and its spawner tell each other, as bytes of one packet each.
//
// The pool sends launches, with the worker's descriptors; the spawner sends reports, the first of
// them `hello`. Both ends usually are one program, but a pool may have named another: a spawner
// that speaks another version is refused.
//
// To change a frame: change encode and decode together, and raise kSpawnVersion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <muster/processes/exit_status.hpp>
#include <muster/processes/file_descriptor.hpp>
#include <muster/processes/launch_options.hpp>

namespace muster {

inline constexpr std::uint32_t kSpawnVersion = 1;

// Set for a spawner: the process id of its pool.
inline constexpr char kSpawnerVariable[] = "MUSTER_SPAWNER";

// Where a spawner finds its socket.
inline constexpr int kSpawnerSocket = 3;

struct Launch {
  std::uint64_t worker = 0;
  LaunchOptions options;
};

[[nodiscard]] std::string encode_launch(std::uint64_t worker, const LaunchOptions& options);

// The descriptors that travel with a launch, in order.
[[nodiscard]] std::vector<int> descriptors_of(const LaunchOptions& options);

// Nothing if the bytes are no launch, or came with other descriptors than they speak of. The
// options refer to `descriptors`, which stay with the caller.
[[nodiscard]] std::optional<Launch> decode_launch(std::string_view bytes,
                                                  const std::vector<FileDescriptor>& descriptors);

// Who is to be launched, as far as bytes that are no launch can tell.
[[nodiscard]] std::uint64_t worker_of_launch(std::string_view bytes);

enum class ReportKind : std::uint32_t {
  hello,    // the spawner is there
  started,  // comes with a pidfd
  refused,  // `text` says what could not be done, `error_number` why
  ended,    // and was reaped
};

struct Report {
  ReportKind kind = ReportKind::hello;
  std::uint64_t worker = 0;
  std::int32_t pid = 0;
  std::int32_t error_number = 0;
  ProcessEnd end = {};
  std::string text = {};

  bool operator==(const Report&) const = default;
};

[[nodiscard]] std::string encode_report(const Report& report);

// Nothing if the bytes are no report, or one of another version.
[[nodiscard]] std::optional<Report> decode_report(std::string_view bytes);

}  // namespace muster
