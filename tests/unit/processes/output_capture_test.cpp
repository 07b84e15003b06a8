// output_capture_test.cpp: what workers say is told line by line, whoever is slow or dead.
#include <condition_variable>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/processes/output_capture.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

// Collects lines as "worker out|err text", and lets the test wait for them.
class Lines {
 public:
  void add(const OutputLine& line) {
    const std::lock_guard lock(mutex_);
    std::string text = std::to_string(line.worker);
    text += line.stream == OutputStream::standard_output ? " out " : " err ";
    text += line.text;
    if (line.cut_bytes > 0) text += '+' + std::to_string(line.cut_bytes);
    all_.push_back(text + (line.is_unfinished ? "..." : ""));
    changed_.notify_all();
  }

  std::vector<std::string> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs),
                           [&] { return all_.size() >= count; })) {
      throw std::runtime_error("lines are missing");
    }
    return all_;
  }

  OutputOptions options() {
    return {.on_line = [this](const OutputLine& line) { add(line); }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

using Texts = std::vector<std::string>;

void write_all(const FileDescriptor& pipe, const std::string& text) {
  ASSERT_EQ(write(pipe.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(OutputCapture, TellsWhatAWorkerSaysAndOnWhichStream) {
  Lines lines;
  OutputCapture capture(lines.options());
  Spawner spawner({});
  LaunchOptions options = test_worker({"say", "one\ntwo\nlast"});
  FileDescriptor end = capture.open(3, OutputStream::standard_output);
  options.standard_output = end.get();
  (void)start(spawner, 3, options);
  end.reset();
  EXPECT_EQ(lines.await(3), (Texts{"3 out one", "3 out two", "3 out last..."}));
  (void)receive<WorkerEnded>(spawner);

  LaunchOptions both = test_worker({"say", "", "bad\n"});
  end = capture.open(4, OutputStream::standard_error);
  both.standard_error = end.get();
  (void)start(spawner, 4, both);
  end.reset();
  EXPECT_EQ(lines.await(4).back(), "4 err bad");
}

TEST(OutputCapture, CutsLongLinesAndSaysSo) {
  Lines lines;
  OutputOptions options = lines.options();
  options.max_line_bytes = 4;
  OutputCapture capture(options);
  const FileDescriptor end = capture.open(1, OutputStream::standard_output);
  write_all(end, "abcdefgh\nab\n");
  EXPECT_EQ(lines.await(2), (Texts{"1 out abcd+4", "1 out ab"}));
}

TEST(OutputCapture, HandsOverTheLastLineOfADeadWorkerThoughSomebodyHoldsItsPipe) {
  Lines lines;
  OutputCapture capture(lines.options());
  FileDescriptor end = capture.open(1, OutputStream::standard_output);
  const FileDescriptor other = capture.open(2, OutputStream::standard_output);
  write_all(end, "unfinished");
  capture.finish(1);
  EXPECT_EQ(lines.await(1), Texts{"1 out unfinished..."});
  write_all(other, "goes on\n");
  EXPECT_EQ(lines.await(2).back(), "2 out goes on") << "others are not concerned";
}

TEST(OutputCapture, StoppingHandsOverWhatIsThere) {
  Lines lines;
  OutputCapture capture(lines.options());
  const FileDescriptor end = capture.open(1, OutputStream::standard_output);
  write_all(end, "one\nrest");
  capture.stop();
  EXPECT_EQ(lines.await(2), (Texts{"1 out one", "1 out rest..."}));
  EXPECT_THROW((void)capture.open(2, OutputStream::standard_output), Stopped);
  capture.finish(1);
  capture.stop();
}

TEST(OutputCapture, ASlowCallbackLeavesAWorkerAsMuchAsItsPipeHolds) {
  std::mutex gate;
  Lines lines;
  std::unique_lock closed(gate);
  OutputOptions options;
  options.on_line = [&](const OutputLine& line) {
    lines.add(line);
    const std::lock_guard lock(gate);
  };
  OutputCapture capture(options);
  const FileDescriptor end = capture.open(1, OutputStream::standard_output);
  write_all(end, "first\n");
  (void)lines.await(1);  // the callback is stuck
  write_all(end, std::string(60'000, 'x') + '\n');
  int waiting = 0;
  ASSERT_EQ(ioctl(end.get(), FIONREAD, &waiting), 0);
  EXPECT_EQ(waiting, 60'001) << "nobody reads, and nobody has waited";
  closed.unlock();
  EXPECT_EQ(lines.await(2).back().size(), std::string("1 out ").size() + 60'000);
}

TEST(OutputCapture, OutlivesACallbackThatThrows) {
  Lines lines;
  OutputOptions options;
  options.on_line = [&](const OutputLine& line) {
    lines.add(line);
    throw std::runtime_error("no");
  };
  OutputCapture capture(options);
  const FileDescriptor end = capture.open(1, OutputStream::standard_output);
  write_all(end, "one\ntwo\n");
  EXPECT_EQ(lines.await(2).size(), 2U);
}

TEST(OutputCapture, LeavesNoDescriptorBehind) {
  const std::size_t before = count_descriptors("self");
  {
    Lines lines;
    OutputCapture capture(lines.options());
    for (std::uint64_t worker = 0; worker < 100; ++worker) {
      write_all(capture.open(worker, OutputStream::standard_output), "hello\n");
    }
    (void)lines.await(100);
  }
  EXPECT_EQ(count_descriptors("self"), before);
}

TEST(OutputCapture, RefusesOptionsThatCannotBeRight) {
  EXPECT_THROW(OutputCapture({}), InvalidArgument);
  EXPECT_THROW(OutputCapture({.on_line = [](const OutputLine&) {}, .max_line_bytes = 0}),
               InvalidArgument);
}

}  // namespace
}  // namespace muster
