// cgroup.cpp: finds our control groups, and the smallest CPU quota on the way up from them.
//
// The formats are those of proc(5), cgroups(7) and the kernel's cgroup-v2 document.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/cgroup.hpp>

#include "text_scan.hpp"

namespace muster {
namespace {

enum class Version { v1, v2 };

// Where a hierarchy can be seen: the group `root` appears as the directory `point`.
struct Mount {
  std::string root;
  std::string point;
};

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// mountinfo writes blanks, line ends and backslashes as three octal digits: "\040".
std::string unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// A path to which "/name" can be appended.
std::string without_final_slash(std::string path) {
  if (path.ends_with('/')) path.pop_back();
  return path;
}

// A line of mountinfo: id, parent, device, root, mount point, options, any number of tags, "-",
// type, source, options of the file system. For v1 the last name the controllers.
std::vector<Mount> find_mounts(std::string_view mountinfo, Version version) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto words = split(line, ' ');
    const auto dash = std::ranges::find(words, std::string_view("-"));
    if (dash - words.begin() < 6 || words.end() - dash < 3) continue;
    const bool wanted = version == Version::v2
                            ? dash[1] == "cgroup2"
                            : dash[1] == "cgroup" && contains(split(words.back(), ','), "cpu");
    if (!wanted) continue;
    mounts.push_back({.root = without_final_slash(unescape(words[3])),
                      .point = without_final_slash(unescape(words[4]))});
  }
  return mounts;
}

// A line of /proc/self/cgroup: hierarchy, controllers, path; for v2 always "0::" and the path.
std::string find_group(std::string_view cgroup, Version version) {
  for (const std::string_view line : split(cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool wanted =
        version == Version::v2 ? line.starts_with("0::") : contains(split(controllers, ','), "cpu");
    if (wanted) return without_final_slash(std::string(line.substr(second + 1)));
  }
  return {};
}

// True if the group is the mount's root or below it. A path with ".." lies outside of our cgroup
// namespace, and cannot be followed.
bool shows(const Mount& mount, const std::string& group) {
  if (contains(split(group, '/'), "..")) return false;
  return group.starts_with(mount.root) &&
         (group.size() == mount.root.size() || group[mount.root.size()] == '/');
}

std::optional<double> quota_v2(const SystemFiles& files, const std::string& directory) {
  const std::string text = files.read(directory + "/cpu.max").value_or("");
  const auto words = split(trim(text), ' ');
  if (words.size() != 2) return std::nullopt;
  const auto quota = parse_number<std::uint64_t>(words[0]);  // nothing for "max"
  const auto period = parse_number<std::uint64_t>(words[1]);
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> quota_v1(const SystemFiles& files, const std::string& directory) {
  const auto number = [&](const char* name) {
    return parse_number<std::uint64_t>(trim(files.read(directory + name).value_or("")));
  };
  const auto quota = number("/cpu.cfs_quota_us");  // nothing for "-1", which is no limit
  const auto period = number("/cpu.cfs_period_us");
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<double> smallest_quota(const SystemFiles& files, Version version) {
  const auto mounts = find_mounts(files.read("/proc/self/mountinfo").value_or(""), version);
  if (mounts.empty()) return std::nullopt;
  const auto group = find_group(files.read("/proc/self/cgroup").value_or(""), version);

  // Of several mounts that show our group, the one with the shortest root shows most ancestors.
  const Mount* mount = nullptr;
  for (const Mount& candidate : mounts) {
    if (!shows(candidate, group)) continue;
    if (mount == nullptr || candidate.root.size() < mount->root.size()) mount = &candidate;
  }
  const bool visible = mount != nullptr;
  if (!visible) mount = &mounts.front();

  std::string directory = mount->point;
  if (visible) directory += group.substr(mount->root.size());
  std::optional<double> smallest;
  for (;;) {
    smallest = smaller(
        smallest, version == Version::v2 ? quota_v2(files, directory) : quota_v1(files, directory));
    if (directory.size() <= mount->point.size()) return smallest;
    directory.resize(directory.rfind('/'));
  }
}

}  // namespace

std::optional<double> cgroup_quota_cpus(const SystemFiles& files) {
  return smaller(smallest_quota(files, Version::v2), smallest_quota(files, Version::v1));
}

}  // namespace muster
