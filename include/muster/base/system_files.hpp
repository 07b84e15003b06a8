// system_files.hpp: the seam through which the files of /proc and /sys are read, so that tests can
// show the parsers any machine.
//
// Thread safety: read() may be called from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <muster/base/api.hpp>

namespace muster {

class MUSTER_API SystemFiles {
 public:
  SystemFiles() = default;
  SystemFiles(const SystemFiles&) = delete;
  SystemFiles& operator=(const SystemFiles&) = delete;
  virtual ~SystemFiles();

  // The whole file, or nothing if it cannot be read for whatever reason.
  virtual std::optional<std::string> read(const std::string& path) const = 0;
};

// This machine's files. What lies beyond the first 8 MiB of a file is not read.
class MUSTER_API RealFiles final : public SystemFiles {
 public:
  RealFiles() = default;
  ~RealFiles() override;
  std::optional<std::string> read(const std::string& path) const override;
};

// Files that exist in memory only: path -> content.
class MUSTER_API MemoryFiles final : public SystemFiles {
 public:
  explicit MemoryFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {}
  ~MemoryFiles() override;
  std::optional<std::string> read(const std::string& path) const override;

 private:
  // Fixed at construction.
  const std::map<std::string, std::string> files_;
};

}  // namespace muster
