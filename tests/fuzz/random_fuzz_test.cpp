// random_fuzz_test.cpp: the fuzzers' entries in every build, with their seeds and with random
// changes of these. What libFuzzer would do better takes it longer: ./dev torture fuzz.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>

#include "fuzz/fuzz_entries.hpp"

namespace muster::fuzz {
namespace {

constexpr std::chrono::seconds kTime{1};
constexpr std::size_t kMostBytes = 4096;

using Entry = std::function<void(std::string_view)>;

std::vector<std::string> seeds_of(const std::string& entry) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(SEEDS "/" + entry)) {
    paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());  // so that a number repeats a run
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// A piece of it, perhaps empty.
std::string piece(const std::string& text, Random& random) {
  const auto begin = static_cast<std::size_t>(random.below(text.size() + 1));
  return text.substr(begin, static_cast<std::size_t>(random.below(16)));
}

void change(std::string& input, const std::vector<std::string>& seeds, Random& random) {
  const auto at = static_cast<std::size_t>(random.below(input.size() + 1));
  const std::string& other = seeds[random.below(seeds.size())];
  switch (random.below(6)) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(random());
      break;
    case 1:
      input.insert(at, 1, static_cast<char>(random()));
      break;
    case 2:
      input.erase(at, static_cast<std::size_t>(random.below(8)));
      break;
    case 3:
      input.insert(at, piece(input, random));
      break;
    case 4:
      input.insert(at, piece(other, random));
      break;
    default:
      input += other;
  }
}

void play(const std::string& name, const Entry& entry) {
  const std::vector<std::string> seeds = seeds_of(name);
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) entry(seed);
  entry("");
  const char* const chosen = std::getenv("MUSTER_SEED");
  const std::uint64_t number = chosen != nullptr ? std::stoull(chosen) : std::random_device{}();
  std::cout << "seed " << number << " (MUSTER_SEED repeats it)" << std::endl;
  Random random(number);
  const Time end = real_clock().now() + kTime;
  std::uint64_t rounds = 0;
  for (; real_clock().now() < end; ++rounds) {
    std::string input = seeds[random.below(seeds.size())];
    for (std::uint64_t i = random.below(10) + 1; i > 0; --i) change(input, seeds, random);
    entry(std::string_view(input).substr(0, kMostBytes));
  }
  std::cout << rounds << " rounds" << std::endl;
}

TEST(RandomFuzz, EachTaskOfACommandWorkerComesBackOnceWhateverThatWrites) {
  play("command_session", command_session);
}

TEST(RandomFuzz, NobodyWhoAttachesToASharedRingLeavesTheMemory) {
  play("shared_ring", shared_ring);
}

#ifdef MUSTER_FUZZ_JOBS

TEST(RandomFuzz, WhatIsReadAsAnEventIsOne) {
  play("job_event", job_event);
}

TEST(RandomFuzz, WhatIsAcceptedAsAScheduleHasRunsThatRise) {
  play("cron", cron);
}

#endif

}  // namespace
}  // namespace muster::fuzz
