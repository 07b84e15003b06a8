// progress_board.cpp: records of 256 bytes in a memfd.
#include "jobs/progress_board.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <type_traits>
#include <unistd.h>
#include <xxhash.h>

#include <muster/base/utf8.hpp>
#include <muster/error.hpp>

#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

constexpr std::size_t kMostText = 200;

struct Record {
  std::uint64_t hash = 0;  // of all that follows
  std::int64_t started_at = 0;
  double fraction = 0;
  std::uint32_t size = 0;
  std::array<char, kMostText> text{};
  std::array<char, 28> unused{};
};
static_assert(sizeof(Record) == 256 && std::is_trivially_copyable_v<Record>,
              "both sides have the same place for each number");

std::uint64_t hash_of(const Record& record) {
  const char* const begin = reinterpret_cast<const char*>(&record) + sizeof(record.hash);
  return XXH3_64bits(begin, sizeof(record) - sizeof(record.hash));
}

off_t offset_of(const ProgressPlace& place) {
  return static_cast<off_t>(place.number) * static_cast<off_t>(sizeof(Record));
}

}  // namespace

ProgressBoard::ProgressBoard() : file_(memfd_create("muster-progress", MFD_CLOEXEC)) {
  if (file_ < 0) throw SystemFailure("make a board for the progress of jobs", errno, "");
}

ProgressBoard::~ProgressBoard() {
  ::close(file_);
}

std::string ProgressBoard::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
}

std::optional<JobProgress> ProgressBoard::read(const ProgressPlace& place) const {
  Record record;
  const ssize_t count = ::pread(file_, &record, sizeof(record), offset_of(place));
  const bool is_whole = count == sizeof(record) && record.hash == hash_of(record);
  if (!is_whole || record.started_at != as_number(place.started_at)) return std::nullopt;
  const std::size_t size = std::min<std::size_t>(record.size, kMostText);
  return JobProgress{.fraction = record.fraction,
                     .text = to_utf8(std::string_view(record.text.data(), size))};
}

ProgressPen::ProgressPen(const std::string& path)
    : file_(path.empty() ? -1 : ::open(path.c_str(), O_RDWR | O_CLOEXEC)) {}

ProgressPen::~ProgressPen() {
  if (file_ >= 0) ::close(file_);
}

void ProgressPen::write(const ProgressPlace& place, const JobProgress& progress) const {
  if (file_ < 0) return;
  Record record{.started_at = as_number(place.started_at), .fraction = progress.fraction};
  const std::size_t size = std::min(progress.text.size(), kMostText);
  std::memcpy(record.text.data(), progress.text.data(), size);
  record.size = static_cast<std::uint32_t>(size);
  record.hash = hash_of(record);
  (void)::pwrite(file_, &record, sizeof(record), offset_of(place));
}

}  // namespace muster
