// system_files.cpp: reads whole small files, real or remembered.
#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>

#include <muster/base/system_files.hpp>

namespace muster {
namespace {

constexpr std::size_t kMaxFileBytes = 8 << 20;

// Descriptor to end of file. Files of /proc and /sys have no size to ask for.
std::optional<std::string> read_all(int descriptor) {
  std::string content;
  std::array<char, 32'768> buffer;
  while (content.size() < kMaxFileBytes) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return content;
}

}  // namespace

SystemFiles::~SystemFiles() = default;
RealFiles::~RealFiles() = default;
MemoryFiles::~MemoryFiles() = default;

std::optional<std::string> RealFiles::read(const std::string& path) const {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::string> content = read_all(descriptor);
  ::close(descriptor);
  return content;
}

std::optional<std::string> MemoryFiles::read(const std::string& path) const {
  const auto found = files_.find(path);
  if (found == files_.end()) return std::nullopt;
  return found->second;
}

}  // namespace muster
