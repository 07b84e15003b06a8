// child_process.cpp: posix_spawn, waitpid, memory files and popen.
#include "processes/child_process.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <spawn.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace muster::bench {

pid_t start_program(const std::string& path, const std::vector<std::string>& arguments, int file) {
  std::vector<std::string> texts = arguments;
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (file >= 0) posix_spawn_file_actions_adddup2(&actions, file, kGivenFile);
  pid_t child = -1;
  const int error = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start " + path);
  return child;
}

int make_file(std::size_t bytes) {
  const int file = memfd_create("muster-bench", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  return file;
}

void* map_file(int file, std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return at;
}

void wait_for_program(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("a program that the suite has started failed");
  }
}

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  char buffer[512];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) {
    output.append(buffer, count);
  }
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return output;
}

}  // namespace muster::bench
