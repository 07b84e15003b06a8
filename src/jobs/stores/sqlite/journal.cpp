// journal.cpp: batches in mapped memory, each with a hash.
#include "jobs/stores/sqlite/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

#include <muster/jobs/job_error.hpp>

#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

// More are better off in a transaction of their own.
constexpr std::size_t kMostBatchBytes = 1U << 16U;

struct FileHead {
  std::uint64_t magic = 0x31'4e'54'52'57'54'53'4d;  // "MSTWRTN1"
  std::uint64_t salt = 0;  // of the hashes of what was added since the file was last cleared
};

struct BatchHead {
  std::uint64_t hash = 0;  // of all that follows
  JobSeq first = 0;
  std::uint32_t bytes = 0;  // of all, with this
  std::uint32_t jobs = 0;
};

// Its texts follow: id, key, event; then zeros up to a multiple of eight.
struct JobHead {
  PoolNumber pool = 0;
  std::int64_t enqueued_at = 0;
  std::int64_t run_at = 0;
  std::uint32_t turn = 0;
  std::uint32_t event_bytes = 0;
  std::uint16_t id_bytes = 0;
  std::uint16_t key_bytes = 0;  // 0: it has none
  std::int16_t priority = 0;
  std::uint16_t unused = 0;
};

// Of its head and so many bytes of text.
constexpr std::size_t padded(std::size_t texts) {
  return sizeof(JobHead) + ((texts + 7) & ~std::size_t{7});
}

std::size_t bytes_of(const NewJob& job) {
  return padded(job.id.size() + (job.key ? job.key->size() : 0) + job.event.size());
}

std::uint64_t hash_of(std::string_view batch, std::uint64_t salt) {
  constexpr std::size_t kUnhashed = sizeof(BatchHead::hash);
  return XXH3_64bits_withSeed(batch.data() + kUnhashed, batch.size() - kUnhashed, salt);
}

template <class T>
T read(const char* place) {
  T value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

// Returns where it ends.
char* write(char* place, const NewJob& job) {
  const JobHead fixed{.pool = job.pool,
                      .enqueued_at = as_number(job.enqueued_at),
                      .run_at = as_number(job.run_at),
                      .turn = job.turn,
                      .event_bytes = static_cast<std::uint32_t>(job.event.size()),
                      .id_bytes = static_cast<std::uint16_t>(job.id.size()),
                      .key_bytes = static_cast<std::uint16_t>(job.key ? job.key->size() : 0),
                      .priority = job.priority};
  char* const end = place + bytes_of(job);
  std::memcpy(place, &fixed, sizeof(fixed));
  place = std::ranges::copy(job.id, place + sizeof(fixed)).out;
  if (job.key) place = std::ranges::copy(*job.key, place).out;
  place = std::ranges::copy(job.event, place).out;
  std::fill(place, end, '\0');
  return end;
}

// Nothing: there is none that is whole.
std::optional<BatchHead> find_batch(std::string_view rest, std::uint64_t salt) {
  if (rest.size() < sizeof(BatchHead)) return std::nullopt;
  const auto batch = read<BatchHead>(rest.data());
  const bool is_possible = batch.bytes >= sizeof(BatchHead) && batch.bytes <= rest.size();
  if (!is_possible || hash_of(rest.substr(0, batch.bytes), salt) != batch.hash) return std::nullopt;
  return batch;
}

// Of a batch that is whole. `place` is behind it then.
Journal::Noted read_job(const char*& place, JobSeq seq) {
  const auto fixed = read<JobHead>(place);
  const char* text = place + sizeof(JobHead);
  const auto next = [&text](std::size_t bytes) {
    return std::string_view(std::exchange(text, text + bytes), bytes);
  };
  Journal::Noted job{.seq = seq,
                     .pool = fixed.pool,
                     .priority = fixed.priority,
                     .turn = fixed.turn,
                     .enqueued_at = as_time(fixed.enqueued_at),
                     .run_at = as_time(fixed.run_at),
                     .id = next(fixed.id_bytes)};
  if (fixed.key_bytes > 0) job.key = next(fixed.key_bytes);
  job.event = next(fixed.event_bytes);
  place += padded(static_cast<std::size_t>(text - place) - sizeof(JobHead));
  return job;
}

// To sync a page that was written to by mapped memory, the kernel has to tell all processors.
bool write_at(int descriptor, std::string_view bytes, std::size_t at) {
  const ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
  return written == static_cast<ssize_t>(bytes.size());
}

// So that its names survive the power.
bool sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_synced = fsync(descriptor) == 0;
  close(descriptor);
  return is_synced;
}

// It gets its name when it is on disk, so that there is never half of one. All of its blocks are
// written: those that never were cost the file system more when they are synced.
bool make_file(const std::string& path, std::size_t bytes) {
  const std::string unfinished = path + "-new";
  const int descriptor = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return false;
  std::string content(bytes, '\0');
  const FileHead head{.salt = std::random_device()()};
  std::memcpy(content.data(), &head, sizeof(head));
  const bool is_written = write_at(descriptor, content, 0) && fsync(descriptor) == 0;
  const int error = errno;
  close(descriptor);
  errno = error;
  return is_written && std::rename(unfinished.c_str(), path.c_str()) == 0 && sync_folder_of(path);
}

}  // namespace

Journal::Journal(const std::string& store_path, std::string path, Options options)
    : path_(std::move(path)), options_(std::move(options)) {
  const auto refuse = [&](const std::string& reason, const std::string& advice) {
    if (memory_ != nullptr) munmap(memory_, options_.bytes);
    if (descriptor_ >= 0) close(descriptor_);
    throw StoreFailure({.attempt = "open job store \"" + store_path + "\"",
                        .reason = "its file \"" + path_ + "\" " + reason,
                        .advice = advice});
  };
  const auto failed = [](const char* attempt, int error) {
    return std::string("cannot be ") + attempt + " (" + std::strerror(error) + ")";
  };
  const bool is_new = !std::filesystem::exists(path_);
  if (is_new && !make_file(path_, options_.bytes)) {
    refuse(failed("made", errno), "the folder must exist and be writable, with room for " +
                                      std::to_string(options_.bytes) + " bytes");
  }
  descriptor_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) refuse(failed("opened", errno), "let this process write to it");
  std::uint64_t magic = 0;
  if (pread(descriptor_, &magic, sizeof(magic), 0) < 0) refuse(failed("read", errno), "");
  if (magic != FileHead().magic) {
    refuse("is of another program, or of another version", "move it away, if it is not muster's");
  }
  // All of it: to write to a page that the disk has no room for would be the end of the process.
  const auto bytes = static_cast<off_t>(options_.bytes);
  if (const int error = posix_fallocate(descriptor_, 0, bytes); error != 0) {
    refuse(failed("made", error), "free " + std::to_string(options_.bytes) + " bytes and retry");
  }
  void* const memory = mmap(nullptr, options_.bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (memory == MAP_FAILED) refuse(failed("mapped", errno), "free memory and retry");
  memory_ = static_cast<char*>(memory);
  if (is_new && !sync()) refuse(failed("synced", errno), "look at the system's log");
  take_up();
}

Journal::~Journal() {
  munmap(memory_, options_.bytes);
  close(descriptor_);
}

// What was there before the file was cleared has hashes of another salt.
void Journal::take_up() {
  salt_ = read<FileHead>(memory_).salt;
  const std::string_view all(memory_ + sizeof(FileHead), options_.bytes - sizeof(FileHead));
  while (const auto batch = find_batch(all.substr(used_), salt_)) {
    used_ += batch->bytes;
    last_ = batch->first + batch->jobs - 1;
    has_synced_ = true;  // perhaps
  }
}

bool Journal::add(JobSeq first, std::span<const NewJob> jobs, Durability durability) {
  std::size_t bytes = sizeof(BatchHead);
  for (const NewJob& job : jobs) bytes += bytes_of(job);
  const std::size_t room = options_.bytes - sizeof(FileHead) - used_;
  if (bytes > std::min(kMostBatchBytes, room)) return false;
  const std::size_t at = sizeof(FileHead) + used_;
  const bool is_synced = durability == Durability::synced;
  if (is_synced) scratch_.resize(std::max(scratch_.size(), bytes));
  char* const batch = is_synced ? scratch_.data() : memory_ + at;
  char* place = batch + sizeof(BatchHead);
  for (const NewJob& job : jobs) place = write(place, job);
  BatchHead fixed{.first = first,
                  .bytes = static_cast<std::uint32_t>(bytes),
                  .jobs = static_cast<std::uint32_t>(jobs.size())};
  std::memcpy(batch, &fixed, sizeof(fixed));
  fixed.hash = hash_of({batch, bytes}, salt_);
  std::memcpy(batch, &fixed.hash, sizeof(fixed.hash));
  if (is_synced && !write_at(descriptor_, {batch, bytes}, at)) return false;
  used_ += bytes;
  last_ = first + static_cast<JobSeq>(jobs.size()) - 1;
  has_synced_ = has_synced_ || is_synced;
  is_unsynced_ = true;
  return true;
}

void Journal::for_each(const std::function<void(const Noted& job)>& each) const {
  const char* place = memory_ + sizeof(FileHead);
  const char* const end = place + used_;
  while (place < end) {
    const auto batch = read<BatchHead>(place);
    const char* job = place + sizeof(BatchHead);
    for (std::uint32_t i = 0; i < batch.jobs; ++i) each(read_job(job, batch.first + i));
    place += batch.bytes;
  }
}

void Journal::clear() noexcept {
  const FileHead head{.salt = ++salt_};
  std::memcpy(memory_, &head, sizeof(head));
  used_ = 0;
  last_ = 0;
  has_synced_ = false;
}

bool Journal::take_unsynced() noexcept {
  return std::exchange(is_unsynced_, false);
}

bool Journal::sync() const {
  if (options_.sync) return options_.sync(path_);
  return fdatasync(descriptor_) == 0;
}

}  // namespace muster
