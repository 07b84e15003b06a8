// owner_file.cpp: a lock, a pid, a page of numbers.
#include "jobs/stores/sqlite/owner_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <muster/jobs/job_error.hpp>

#include "jobs/store.hpp"

namespace muster {
namespace {

constexpr std::size_t kPidBytes = 4096;
constexpr std::size_t kNoteBytes = Store::kMostRunners * sizeof(Atomic<JobSeq>);
static_assert(sizeof(Atomic<JobSeq>) == 8, "other processes read it, when we are dead");

std::string pid_in(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t count = pread(descriptor, text.data(), text.size() - 1, 0);
  const std::string_view read(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return std::string(read.substr(0, read.find_first_not_of("0123456789")));
}

}  // namespace

OwnerFile::OwnerFile(const std::string& store_path) : path_(store_path + "-owner") {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    throw StoreFailure({.attempt = "open job store \"" + store_path + "\"",
                        .reason = "its owner file \"" + path_ + "\" cannot be opened (" +
                                  std::strerror(errno) + ")",
                        .advice = "the folder must exist and be writable"});
  }
  try {
    lock(store_path);
    write_pid(store_path);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

void OwnerFile::lock(const std::string& store_path) {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  const bool is_taken = error == EWOULDBLOCK;
  throw StoreFailure(
      {.attempt = "open job store \"" + store_path + "\"",
       .reason = is_taken ? "process " + pid_in(descriptor_) + " has it"
                          : std::string("it cannot be locked (") + std::strerror(error) + ")",
       .advice = is_taken ? "one process owns a store; enqueue through that one, or stop it"
                          : "keep it on a local file system"});
}

void OwnerFile::write_pid(const std::string& store_path) {
  constexpr std::size_t kBytes = kPidBytes + kNoteBytes;
  const std::string pid = std::to_string(getpid()) + "\n";
  // All of it: to write to a page that the disk has no room for would be the end of the process.
  int error = posix_fallocate(descriptor_, 0, kBytes);
  const bool is_written = error == 0 && pwrite(descriptor_, pid.data(), pid.size(), 0) ==
                                            static_cast<ssize_t>(pid.size());
  void* const memory = is_written ? mmap(nullptr, kNoteBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                         descriptor_, kPidBytes)
                                  : MAP_FAILED;
  if (memory == MAP_FAILED) {
    if (error == 0) error = errno;
    throw StoreFailure({.attempt = "open job store \"" + store_path + "\"",
                        .reason = "its owner file \"" + path_ + "\" cannot be written (" +
                                  std::strerror(error) + ")",
                        .advice = "free " + std::to_string(kBytes) + " bytes and retry"});
  }
  // Zeros are what new ones are.
  running_ = {static_cast<Atomic<JobSeq>*>(memory), Store::kMostRunners};
}

OwnerFile::~OwnerFile() {
  munmap(running_.data(), kNoteBytes);
  close(descriptor_);  // and with it the lock
}

std::vector<JobSeq> OwnerFile::take_noted() {
  std::vector<JobSeq> noted;
  for (Atomic<JobSeq>& running : running_) {
    const JobSeq seq = running.load(relaxed);  // relaxed: its writer is dead
    if (seq == 0) continue;
    noted.push_back(seq);
    running.store(0, relaxed);  // relaxed: nobody else is there
  }
  return noted;
}

}  // namespace muster
