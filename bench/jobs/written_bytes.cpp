// written_bytes.cpp: reads /proc/PID/io.
#include "jobs/written_bytes.hpp"

#include <fstream>
#include <stdexcept>
#include <string>

namespace muster::bench {

std::uint64_t written_bytes_of(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/io";
  std::ifstream in(path);
  std::string name;
  std::uint64_t value = 0;
  while (in >> name >> value) {
    if (name == "write_bytes:") return value;
  }
  throw std::runtime_error("cannot find write_bytes in " + path);
}

}  // namespace muster::bench
