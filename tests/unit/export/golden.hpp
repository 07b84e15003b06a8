// golden.hpp: text as it was when somebody last looked at it and found it right.
//
// MUSTER_GOLDEN=write in the environment writes it anew; look at the difference before you commit.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace muster {

inline std::string golden(const std::string& file, const std::string& seen) {
  const std::string path = GOLDEN_DIR "/" + file;
  if (std::getenv("MUSTER_GOLDEN") != nullptr) std::ofstream(path) << seen;
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace muster
