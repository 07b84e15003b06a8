// launch.cpp: fork, then all that must be as the worker is to find it, then exec.
//
// The child tells of the first step that fails through a pipe that exec closes: if the pipe ends
// without a word, the program runs.
#include "processes/launch.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "processes/write_bar.hpp"

namespace muster {
namespace {

enum class Step : std::int32_t {
  tie,
  group,
  memory_kill,
  nice,
  directory,
  descriptors,
  privileges,
  write_bar,
  memory_limit,
  cpu_limit,
  files_limit,
  run,
};

// What the child writes into the pipe.
struct FailedStep {
  Step step = Step::tie;
  std::int32_t error_number = 0;
};

std::string attempt_text(Step step, const LaunchOptions& options) {
  switch (step) {
    case Step::tie:
      return "tie a worker to its spawner";
    case Step::group:
      return "give a worker a process group";
    case Step::memory_kill:
      return "set a worker's oom_score_adj to " + std::to_string(options.oom_score_adj.value_or(0));
    case Step::nice:
      return "add " + std::to_string(options.nice) + " to a worker's niceness";
    case Step::directory:
      return "enter a worker's directory \"" + options.working_directory + '"';
    case Step::descriptors:
      return "hand a worker its descriptors";
    case Step::privileges:
      return "bar a worker from new privileges";
    case Step::write_bar:
      return "bar a worker from writing but below its writable_paths";
    case Step::memory_limit:
      return "limit a worker's memory";
    case Step::cpu_limit:
      return "limit a worker's CPU time";
    case Step::files_limit:
      return "limit a worker's open files";
    case Step::run:
      break;
  }
  return options.program.empty() ? "run this program as a worker"
                                 : "run \"" + options.program + "\" as a worker";
}

// Texts as exec wants them. The strings must stay.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t count = readlink("/proc/self/exe", path.data(), path.size());
  return count > 0 ? std::string(path.data(), static_cast<std::size_t>(count)) : "muster-worker";
}

std::vector<std::string> make_arguments(const LaunchOptions& options) {
  std::vector<std::string> arguments;
  arguments.push_back(options.program.empty() ? own_path() : options.program);
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  return arguments;
}

std::vector<std::string> make_environment(const LaunchOptions& options) {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; options.inherit_environment && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t sign = text.find('=');
    if (sign == std::string_view::npos) continue;
    variables.emplace(text.substr(0, sign), text.substr(sign + 1));
  }
  for (const auto& [name, value] : options.environment) variables.insert_or_assign(name, value);
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    environment.emplace_back(name).append(1, '=').append(value);
  }
  return environment;
}

// All that the child needs, made before the fork.
class Child {
 public:
  Child(const LaunchOptions& options, const rlimit& open_files)
      : options_(options),
        open_files_(open_files),
        arguments_(make_arguments(options)),
        environment_(make_environment(options)),
        argument_pointers_(pointers_to(arguments_)),
        environment_pointers_(pointers_to(environment_)) {}

  // In the child. `report` is the pipe's end for writing.
  [[noreturn]] void run(int report) {
    report_ = report;
    tie();
    check(setpgid(0, 0) == 0, Step::group);
    set_priority();
    const std::string& directory = options_.working_directory;
    if (!directory.empty()) check(chdir(directory.c_str()) == 0, Step::directory);
    place_descriptors();
    if (options_.no_new_privileges) {
      check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, Step::privileges);
    }
    if (options_.writable_paths) {
      check(bar_from_writing(*options_.writable_paths), Step::write_bar);
    }
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, nullptr);
    const char* const program =
        options_.program.empty() ? "/proc/self/exe" : options_.program.c_str();
    set_limits();
    execvpe(program, argument_pointers_.data(), environment_pointers_.data());
    fail(Step::run);
  }

 private:
  [[noreturn]] void fail(Step step) const {
    const FailedStep failed{.step = step, .error_number = errno};
    (void)!write(report_, &failed, sizeof failed);
    _exit(127);
  }

  void check(bool done, Step step) const {
    if (!done) fail(step);
  }

  // If the spawner dies, so does the worker; also if it died before it could say so.
  void tie() const {
    check(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, Step::tie);
    if (getppid() != spawner_) _exit(127);
  }

  void set_priority() const {
    if (options_.oom_score_adj) {
      const std::string text = std::to_string(*options_.oom_score_adj);
      const FileDescriptor file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
      check(file && write(file.get(), text.data(), text.size()) > 0, Step::memory_kill);
    }
    if (options_.nice != 0) {
      errno = 0;  // -1 is also a niceness
      check(nice(options_.nice) != -1 || errno == 0, Step::nice);
    }
  }

  // Sources and targets may be the same numbers in another order, so all sources first move out of
  // the way. Whatever is not a target is closed.
  void place_descriptors() {
    const int first_free = 3 + static_cast<int>(options_.descriptors.size());
    const auto move_up = [&](int source) {
      const int copy = fcntl(source, F_DUPFD_CLOEXEC, first_free + 1);
      check(copy >= 0, Step::descriptors);
      return copy;
    };
    report_ = move_up(report_);
    std::vector<std::pair<int, int>> moves;  // from, to
    const auto plan = [&](int source, int target) {
      if (source != -1) moves.emplace_back(move_up(source), target);
    };
    plan(options_.standard_input, STDIN_FILENO);
    plan(options_.standard_output, STDOUT_FILENO);
    plan(options_.standard_error, STDERR_FILENO);
    int target = 3;
    for (const int source : options_.descriptors) plan(source, target++);
    for (const auto& [source, to] : moves) check(dup2(source, to) == to, Step::descriptors);
    check(dup3(report_, first_free, O_CLOEXEC) == first_free, Step::descriptors);
    report_ = first_free;
    check(close_range(static_cast<unsigned>(first_free) + 1, ~0U, 0) == 0, Step::descriptors);
  }

  // Last, since what comes before may need more than the worker may have. Memory last of all: this
  // process, a copy of the spawner, may be over that limit already, and then gets not a page more.
  void set_limits() const {
    const ProcessLimits& limits = options_.limits;
    if (limits.cpu_time) {
      // Were both the same, the kernel would send SIGKILL at once, which says nothing.
      const auto seconds = static_cast<rlim_t>(limits.cpu_time->count());
      const rlimit time{.rlim_cur = seconds, .rlim_max = seconds + 5};
      check(setrlimit(RLIMIT_CPU, &time) == 0, Step::cpu_limit);
    }
    rlimit files = open_files_;
    if (limits.open_files) files = {.rlim_cur = *limits.open_files, .rlim_max = *limits.open_files};
    check(setrlimit(RLIMIT_NOFILE, &files) == 0, Step::files_limit);
    if (limits.memory_bytes) {
      const rlimit memory{.rlim_cur = *limits.memory_bytes, .rlim_max = *limits.memory_bytes};
      check(setrlimit(RLIMIT_DATA, &memory) == 0, Step::memory_limit);
    }
  }

  const LaunchOptions& options_;
  const rlimit& open_files_;
  const pid_t spawner_ = getpid();
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::vector<char*> argument_pointers_;
  std::vector<char*> environment_pointers_;
  int report_ = -1;
};

// Until the pipe ends, which exec, a failed step or death see to.
std::optional<FailedStep> read_failure(int pipe_end) {
  FailedStep failed;
  ssize_t count = 0;
  do {
    count = read(pipe_end, &failed, sizeof failed);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof failed) return std::nullopt;
  return failed;
}

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::variant<ProcessHandle, LaunchFailure> launch(const LaunchOptions& options,
                                                  const rlimit& open_files) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return LaunchFailure{.attempt = "make a pipe for a new worker", .error_number = errno};
  }
  const FileDescriptor to_read(ends[0]);
  FileDescriptor to_write(ends[1]);
  Child child(options, open_files);
  const pid_t pid = fork();
  if (pid < 0) return LaunchFailure{.attempt = "fork a worker", .error_number = errno};
  if (pid == 0) child.run(to_write.get());
  to_write.reset();
  if (const auto failed = read_failure(to_read.get())) {
    reap(pid);
    return LaunchFailure{.attempt = attempt_text(failed->step, options),
                         .error_number = failed->error_number};
  }
  ProcessHandle process = ProcessHandle::open(pid);  // dead or not, nobody else has reaped it
  if (!process) {
    const int error = errno;
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    reap(pid);
    return LaunchFailure{.attempt = "watch a worker", .error_number = error};
  }
  return process;
}

}  // namespace muster
