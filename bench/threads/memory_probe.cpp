// memory_probe.cpp: starts probes and reads /proc/self/smaps.
#include "threads/memory_probe.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "threads/gathering.hpp"
#include "threads/pools.hpp"
#include "threads/tally.hpp"

namespace muster::bench {
namespace {

const std::string kWorkersProbe = "--probe-workers";
const std::string kQueueProbe = "--probe-queue";
constexpr unsigned kFewWorkers = 2;
constexpr unsigned kManyWorkers = 34;
constexpr std::uint64_t kQueued = 100'000;

using Addresses = std::vector<std::uintptr_t>;

// Resident kibibytes that are no file's, except in mappings in which one of the addresses lies.
std::uint64_t resident_kib_without(const Addresses& excepted) {
  std::ifstream smaps("/proc/self/smaps");
  std::uint64_t sum = 0;
  bool counts = true;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    std::uint64_t kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
      counts = std::none_of(excepted.begin(), excepted.end(), [&](std::uintptr_t address) {
        return first <= address && address < last;
      });
    } else if (std::sscanf(line.c_str(), "Anonymous: %lu kB", &kib) == 1 && counts) {
      sum += kib;
    }
  }
  return sum;
}

// Says its figure and leaves: what the pool still does is of no interest.
[[noreturn]] void tell(std::uint64_t kib) {
  std::printf("%lu\n", kib);
  std::fflush(stdout);
  std::_Exit(EXIT_SUCCESS);
}

template <class Pool>
void probe_workers(unsigned workers) {
  Gathering gathering;
  Pool pool(workers);
  const Addresses stacks = gathering.hold(pool, workers);
  tell(resident_kib_without(stacks));
}

template <class Pool>
void probe_queue(unsigned workers) {
  Tally tally;
  Gathering gathering;
  Pool pool(workers);
  const Addresses stacks = gathering.hold(pool, workers);
  const std::uint64_t before = resident_kib_without(stacks);
  for (std::uint64_t i = 0; i < kQueued; ++i) pool.post([&tally] { tally.add_one(); });
  const std::uint64_t after = resident_kib_without(stacks);
  gathering.release();
  tally.wait_for(kQueued);
  tell(after - before);
}

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::uint64_t answer_of(const std::string& probe, const char* contender, unsigned workers) {
  const std::string command =
      '\'' + own_path() + "' " + probe + " '" + contender + "' " + std::to_string(workers);
  std::uint64_t kib = 0;
  FILE* pipe = popen(command.c_str(), "r");
  const bool answered = pipe != nullptr && std::fscanf(pipe, "%lu", &kib) == 1;
  if (pipe == nullptr || pclose(pipe) != 0 || !answered) {
    throw std::runtime_error("the memory probe failed: " + command);
  }
  return kib;
}

}  // namespace

double kib_per_worker(const char* contender) {
  const auto few = static_cast<double>(answer_of(kWorkersProbe, contender, kFewWorkers));
  const auto many = static_cast<double>(answer_of(kWorkersProbe, contender, kManyWorkers));
  return (many - few) / (kManyWorkers - kFewWorkers);
}

double kib_per_thousand_tasks(const char* contender) {
  const auto all = static_cast<double>(answer_of(kQueueProbe, contender, kWorkers));
  return 1000 * all / kQueued;
}

std::optional<int> run_memory_probe(int argc, char** argv) {
  const std::string_view probe = argc == 4 ? argv[1] : "";
  if (probe != kWorkersProbe && probe != kQueueProbe) return std::nullopt;
  const auto run = [probe]<class Pool>(std::uint64_t workers) -> Sample {
    if (probe == kWorkersProbe) probe_workers<Pool>(static_cast<unsigned>(workers));
    probe_queue<Pool>(static_cast<unsigned>(workers));
    return {};
  };
  for (const Contender& contender : PostPools::all(run)) {
    if (contender.name == argv[2]) contender.run(std::stoul(argv[3]));
  }
  return EXIT_FAILURE;
}

}  // namespace muster::bench
