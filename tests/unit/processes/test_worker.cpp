// test_worker.cpp: a worker process that dies in the way it is told to, or tells what it was given.
//
// Built without sanitizers: it must die as the kernel has it, and live with little memory.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <iostream>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

void wait_for_ever() {
  for (;;) pause();
}

// Says so in its output, so that whoever waits for that need not guess.
void say_ready() {
  std::cout << "ready" << std::endl;
}

[[noreturn]] void use_up_memory() {
  for (std::vector<std::string> all;;) all.emplace_back(1 << 20, 'x');
}

void show_limit(const char* name, int resource) {
  rlimit limit{};
  (void)getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  std::cout << name << ' ' << limit.rlim_cur << ' ' << limit.rlim_max << '\n';
}

void show_status_line(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) std::cout << line << '\n';
  }
}

// Not those that the C library keeps to itself: posix_spawn() ignores them.
void show_ignored() {
  std::cout << "ignored";
  for (int number = 1; number < 32; ++number) {
    struct sigaction action{};
    (void)sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) std::cout << ' ' << number;
  }
  std::cout << '\n';
}

void show_descriptors() {
  std::cout << "descriptors";
  DIR* const folder = opendir("/proc/self/fd");
  while (const dirent* const entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && name != std::to_string(dirfd(folder))) {
      std::cout << ' ' << name;
    }
  }
  closedir(folder);
  std::cout << '\n';
}

void show_all() {
  show_descriptors();
  show_limit("memory", RLIMIT_DATA);
  show_limit("cpu", RLIMIT_CPU);
  show_limit("files", RLIMIT_NOFILE);
  show_status_line("SigBlk");
  show_ignored();
  show_status_line("NoNewPrivs");
  std::cout << "nice " << getpriority(PRIO_PROCESS, 0) << '\n';
  std::ifstream adj("/proc/self/oom_score_adj");
  std::string number;
  adj >> number;
  std::cout << "oom_score_adj " << number << '\n';
  std::cout << "group " << (getpgrp() == getpid() ? "own" : "another") << '\n';
  int death_signal = 0;
  (void)prctl(PR_GET_PDEATHSIG, &death_signal);
  std::cout << "death_signal " << death_signal << '\n';
  char directory[4096];
  std::cout << "directory " << getcwd(directory, sizeof directory) << '\n';
  for (char** entry = environ; *entry != nullptr; ++entry) std::cout << "env " << *entry << '\n';
  std::string line;
  while (std::getline(std::cin, line)) std::cout << "input " << line << '\n';
  std::cout << "end" << std::endl;
}

void start_child() {
  if (fork() == 0) {
    say_ready();
    wait_for_ever();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "wait";
  if (what == "exit") return std::atoi(argv[2]);
  if (what == "signal") {
    raise(std::atoi(argv[2]));
  } else if (what == "abort") {
    std::abort();
  } else if (what == "memory") {
    use_up_memory();
  } else if (what == "show") {
    show_all();
    return 0;
  } else if (what == "write") {  // to descriptor 3
    (void)!write(3, argv[2], std::strlen(argv[2]));
    return 0;
  } else if (what == "say") {  // as it stands, with or without a line's end
    (void)!write(STDOUT_FILENO, argv[2], std::strlen(argv[2]));
    if (argc > 3) (void)!write(STDERR_FILENO, argv[3], std::strlen(argv[3]));
    return 0;
  } else if (what == "children") {
    start_child();
    wait_for_ever();
  } else if (what == "leave-child") {
    start_child();
    return 0;
  } else if (what == "stubborn") {
    (void)std::signal(SIGTERM, SIG_IGN);
    say_ready();
  } else if (what == "ready") {
    say_ready();
  }
  wait_for_ever();
}
