// output_capture.cpp: one thread that reads all pipes, and a kick to tell it what to do next.
#include <array>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <map>
#include <optional>
#include <pthread.h>
#include <string>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/processes/line_splitter.hpp>
#include <muster/processes/output_capture.hpp>
#include <muster/sync/mutex.hpp>

#include "processes/kick.hpp"

namespace muster {
namespace {

constexpr std::uint64_t kCommands = 0;  // pipes are counted from 1

constexpr std::size_t kMostTold = 1 << 20;  // bytes that wait to be handed over, or so

[[noreturn]] void fail(const std::string& attempt) {
  throw SystemFailure(attempt, errno, "");
}

}  // namespace

class OutputCapture::Reader {
 public:
  explicit Reader(OutputOptions options) : options_(std::move(options)) {
    if (!events_) fail("prepare to read the output of workers");
    watch(kick_.descriptor(), kCommands);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      throw SystemFailure("start a thread for the output of workers", error.code().value(), "");
    }
    (void)pthread_setname_np(thread_.native_handle(), "muster-output");
  }

  FileDescriptor open(std::uint64_t worker, OutputStream stream) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("make a pipe for the output of a worker");
    FileDescriptor to_read(ends[0]);
    FileDescriptor to_write(ends[1]);
    if (fcntl(to_read.get(), F_SETFL, O_NONBLOCK) != 0) fail("prepare a pipe");
    {
      const MutexLock lock(mutex_);
      if (stopping_) throw Stopped("the output of workers is no longer read");
      opened_.emplace_back(worker, stream, std::move(to_read), options_.max_line_bytes);
    }
    kick_.give();
    return to_write;
  }

  void finish(std::uint64_t worker) {
    {
      const MutexLock lock(mutex_);
      finished_.push_back(worker);
    }
    kick_.give();
  }

  void tell(const OutputLine& line) {
    {
      const MutexLock lock(mutex_);
      told_bytes_ += line.text.size() + sizeof(Told);
      told_.push_back({.line = line, .text = std::string(line.text)});
    }
    kick_.give();
  }

  bool has_room() {
    const MutexLock lock(mutex_);
    if (told_bytes_ < kMostTold) return true;
    awaits_room_ = true;
    return false;
  }

  void stop() {
    std::thread thread;
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      thread.swap(thread_);
    }
    kick_.give();
    if (thread.joinable()) thread.join();
  }

 private:
  struct Pipe {
    Pipe(std::uint64_t of_worker, OutputStream of_stream, FileDescriptor end, std::size_t max_bytes)
        : worker(of_worker), stream(of_stream), to_read(std::move(end)), splitter(max_bytes) {}

    std::uint64_t worker;
    OutputStream stream;
    FileDescriptor to_read;
    LineSplitter splitter;
  };
  using Pipes = std::map<std::uint64_t, Pipe>;

  struct Told {
    OutputLine line;
    std::string text;
  };

  void watch(int descriptor, std::uint64_t subject) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = subject;
    if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
      fail("watch the output of a worker");
    }
  }

  void run() {
    for (bool goes_on = true; goes_on;) {
      std::array<epoll_event, 64> happened{};
      const int count = epoll_wait(events_.get(), happened.data(), happened.size(), -1);
      bool has_commands = false;
      for (int i = 0; i < count; ++i) {
        const std::uint64_t subject = happened[static_cast<std::size_t>(i)].data.u64;
        if (subject == kCommands) {
          has_commands = true;
        } else if (const auto found = pipes_.find(subject); found != pipes_.end()) {
          if (!read_some(found->second)) end(found);
        }
      }
      // Last, since it takes away pipes that events may be about.
      if (has_commands) goes_on = obey();
    }
  }

  // False: stop.
  bool obey() {
    kick_.take();
    std::vector<Pipe> opened;
    std::vector<std::uint64_t> finished;
    std::vector<Told> told;
    bool stopping = false;
    bool awaits_room = false;
    {
      const MutexLock lock(mutex_);
      opened.swap(opened_);
      finished.swap(finished_);
      told.swap(told_);
      told_bytes_ = 0;
      stopping = stopping_;
      awaits_room = std::exchange(awaits_room_, false);
    }
    for (Told& each : told) {
      each.line.text = each.text;
      hand_over(each.line);
    }
    if (awaits_room && options_.on_room) options_.on_room();
    for (Pipe& pipe : opened) add(std::move(pipe));
    for (const std::uint64_t worker : finished) {
      finish_pipes([worker](const Pipe& pipe) { return pipe.worker == worker; });
    }
    if (stopping) finish_pipes([](const Pipe&) { return true; });
    return !stopping;
  }

  void add(Pipe pipe) {
    try {
      watch(pipe.to_read.get(), ++last_pipe_);
      pipes_.emplace(last_pipe_, std::move(pipe));
    } catch (const SystemFailure& failure) {
      MUSTER_LOG(LogLevel::error, failure.what());  // the worker sees its output closed
    }
  }

  template <class Wanted>
  void finish_pipes(const Wanted& wanted) {
    for (auto next = pipes_.begin(); next != pipes_.end();) {
      const auto pipe = next++;
      if (!wanted(pipe->second)) continue;
      read_what_is_there(pipe->second);
      end(pipe);
    }
  }

  // No more than is there now: somebody may go on writing for ever.
  void read_what_is_there(Pipe& pipe) {
    int left = 0;
    if (ioctl(pipe.to_read.get(), FIONREAD, &left) != 0) return;
    while (left > 0) {
      const std::size_t before = bytes_read_;
      if (!read_some(pipe) || bytes_read_ == before) return;
      left -= static_cast<int>(bytes_read_ - before);
    }
  }

  // One read, so that nobody who writes much keeps others waiting. False: the stream has ended.
  bool read_some(Pipe& pipe) {
    const ssize_t count = read(pipe.to_read.get(), buffer_.data(), buffer_.size());
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    bytes_read_ += static_cast<std::size_t>(count);
    pipe.splitter.feed({buffer_.data(), static_cast<std::size_t>(count)}, taker(pipe));
    return true;
  }

  void end(Pipes::iterator found) {
    found->second.splitter.finish(taker(found->second));
    pipes_.erase(found);
  }

  LineSplitter::Take taker(const Pipe& pipe) {
    return [this, worker = pipe.worker, stream = pipe.stream](const SplitLine& line) {
      hand_over({.worker = worker,
                 .stream = stream,
                 .text = line.text,
                 .cut_bytes = line.cut_bytes,
                 .is_unfinished = line.is_unfinished});
    };
  }

  void hand_over(const OutputLine& line) const {
    try {
      options_.on_line(line);
    } catch (...) {
      MUSTER_LOG(LogLevel::error, "the callback for a line of worker "
                                      << line.worker
                                      << " threw: " << message_of(std::current_exception()));
    }
  }

  // Fixed at construction.
  const OutputOptions options_;
  const Kick kick_;
  const FileDescriptor events_{epoll_create1(EPOLL_CLOEXEC)};

  // The reading thread only.
  Pipes pipes_;
  std::uint64_t last_pipe_ = 0;
  std::size_t bytes_read_ = 0;
  std::array<char, 32'768> buffer_{};

  // Guarded by mutex_.
  Mutex mutex_;
  std::vector<Pipe> opened_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> finished_ MUSTER_GUARDED_BY(mutex_);
  std::vector<Told> told_ MUSTER_GUARDED_BY(mutex_);
  std::size_t told_bytes_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool awaits_room_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_ MUSTER_GUARDED_BY(mutex_);
};

std::vector<BadField> validate(const OutputOptions& options) {
  std::vector<BadField> bad;
  if (!options.on_line) bad.push_back({"on_line", "empty", "must be a function"});
  if (options.max_line_bytes < 1) bad.push_back({"max_line_bytes", "0", "must be at least 1"});
  return bad;
}

OutputCapture::OutputCapture(OutputOptions options)
    : reader_([&options] {
        if (auto bad = validate(options); !bad.empty()) throw InvalidArgument(std::move(bad));
        return std::make_unique<Reader>(std::move(options));
      }()) {}

OutputCapture::~OutputCapture() {
  stop();
}

FileDescriptor OutputCapture::open(std::uint64_t worker, OutputStream stream) {
  return reader_->open(worker, stream);
}

void OutputCapture::finish(std::uint64_t worker) {
  reader_->finish(worker);
}

void OutputCapture::tell(const OutputLine& line) {
  reader_->tell(line);
}

bool OutputCapture::has_room() {
  return reader_->has_room();
}

void OutputCapture::stop() {
  reader_->stop();
}

}  // namespace muster
