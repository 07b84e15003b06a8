// child_process.hpp: starting programs by posix_spawn, as a yardstick and for yardsticks.
#pragma once

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

namespace muster::bench {

// Where a child finds the file that it is given.
inline constexpr int kGivenFile = 3;

// Starts a program with the arguments, and with `file` as kGivenFile unless that is -1.
// Throws std::system_error if it cannot.
pid_t start_program(const std::string& path, const std::vector<std::string>& arguments,
                    int file = -1);

// Memory to be given to a child, full of zeros. Both throw std::system_error if there is none.
int make_file(std::size_t bytes);
void* map_file(int file, std::size_t bytes);

// Waits until it has ended. Throws std::runtime_error unless it exits with 0.
void wait_for_program(pid_t child);

// The file of this very program.
std::string own_path();

// What a command of the shell writes on its standard output. Throws std::runtime_error, with the
// command, if it fails.
std::string output_of(const std::string& command);

}  // namespace muster::bench
