// journal.cpp: batches in mapped memory, each with a hash.
#include "jobs/stores/sqlite/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

#include <muster/jobs/job_error.hpp>

#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

constexpr std::size_t kFileBytes = 1U << 20U;
constexpr std::size_t kRoom = kFileBytes - 16;  // behind the head

// More are better off in a transaction of their own.
constexpr std::size_t kMostBatchBytes = 1U << 16U;

constexpr std::uint64_t kMagic = 0x31'4e'54'52'57'54'53'4d;  // "MSTWRTN1"

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

std::uint64_t hash_of(const char* batch, std::size_t bytes) {
  constexpr std::size_t kUnhashed = sizeof(BatchHead::hash);
  return XXH3_64bits(batch + kUnhashed, bytes - kUnhashed);
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

// Null: there is none that is whole.
const char* find_batch(const char* place, std::size_t room) {
  if (room < sizeof(BatchHead)) return nullptr;
  const auto batch = read<BatchHead>(place);
  const bool is_possible = batch.bytes >= sizeof(BatchHead) && batch.bytes <= room;
  return is_possible && hash_of(place, batch.bytes) == batch.hash ? place : nullptr;
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

}  // namespace

Journal::Journal(const std::string& store_path) : path_(store_path + "-written") {
  const auto refuse = [&](const std::string& reason, const std::string& advice) {
    if (descriptor_ >= 0) close(descriptor_);
    throw StoreFailure({.attempt = "open job store \"" + store_path + "\"",
                        .reason = "its file \"" + path_ + "\" " + reason,
                        .advice = advice});
  };
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    refuse(std::string("cannot be opened (") + std::strerror(errno) + ")",
           "the folder must exist and be writable");
  }
  std::uint64_t magic = 0;  // of a new file
  (void)!pread(descriptor_, &magic, sizeof(magic), 0);
  if (magic != 0 && magic != kMagic) {
    refuse("is of another program, or of another version", "move it away, if it is not muster's");
  }
  // All of it: to write to a page that the disk has no room for would be the end of the process.
  if (const int error = posix_fallocate(descriptor_, 0, kFileBytes); error != 0) {
    refuse(std::string("cannot be made (") + std::strerror(error) + ")", "free 1 MiB and retry");
  }
  void* const memory =
      mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (memory == MAP_FAILED) {
    refuse(std::string("cannot be mapped (") + std::strerror(errno) + ")", "free memory and retry");
  }
  memory_ = static_cast<char*>(memory);
  head().magic = kMagic;
}

Journal::~Journal() {
  munmap(memory_, kFileBytes);
  close(descriptor_);
}

Journal::Head& Journal::head() const {
  return *reinterpret_cast<Head*>(memory_);
}

bool Journal::is_empty() const {
  return head().used.load(relaxed) == 0;  // relaxed: our own
}

bool Journal::add(JobSeq first, std::span<const NewJob> jobs) {
  std::size_t bytes = sizeof(BatchHead);
  for (const NewJob& job : jobs) bytes += bytes_of(job);
  const std::uint64_t used = head().used.load(relaxed);  // relaxed: our own
  if (bytes > kMostBatchBytes || bytes > kRoom - std::min<std::uint64_t>(used, kRoom)) return false;
  char* const batch = memory_ + sizeof(Head) + used;
  char* place = batch + sizeof(BatchHead);
  for (const NewJob& job : jobs) place = write(place, job);
  BatchHead fixed{.first = first,
                  .bytes = static_cast<std::uint32_t>(bytes),
                  .jobs = static_cast<std::uint32_t>(jobs.size())};
  std::memcpy(batch, &fixed, sizeof(fixed));
  fixed.hash = hash_of(batch, bytes);
  std::memcpy(batch, &fixed.hash, sizeof(fixed.hash));
  head().used.store(used + bytes, release);  // sync(journal): whoever finds us dead reads it
  return true;
}

void Journal::for_each(const std::function<void(const Noted& job)>& each) const {
  const std::uint64_t used = head().used.load(acquire);  // sync(journal): of one who is dead
  const char* place = memory_ + sizeof(Head);
  const char* const end = place + std::min<std::uint64_t>(used, kRoom);
  while (const char* const batch = find_batch(place, static_cast<std::size_t>(end - place))) {
    const auto fixed = read<BatchHead>(batch);
    place = batch + sizeof(BatchHead);
    for (std::uint32_t i = 0; i < fixed.jobs; ++i) {
      const Noted job = read_job(place, fixed.first + i);
      each(job);
    }
    place = batch + fixed.bytes;
  }
}

void Journal::clear() {
  head().used.store(0, release);  // sync(journal): as in add()
}

}  // namespace muster
