// report.hpp: measures what the crew does, and shows it as a table.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>

#include <muster/base/clock.hpp>

#include "picture.hpp"

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(muster::real_clock().now() - start_).count();
  }

 private:
  const muster::Time start_ = muster::real_clock().now();
};

// Sleep does not count.
inline double cpu_seconds_of_this_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

// What one worker has done.
struct Tally {
  std::size_t tasks = 0;   // it ran
  std::size_t stolen = 0;  // it took from others
  std::size_t parked = 0;  // times it lay down to sleep
  double cpu_seconds = 0;  // it ran on a CPU
};

struct Result {
  double seconds = 0;
  std::uint32_t checksum = 0;
};

struct Report {
  std::vector<Tally> workers = {};
  Result crew = {};
  Result one_thread = {};
};

inline void show(const Report& report, Look look) {
  std::cout << "\nworker   tasks   stolen   parked     CPU\n";
  for (int worker = 0; const Tally& tally : report.workers) {
    std::ostringstream row;
    row << std::setw(6) << worker << std::setw(8) << tally.tasks << std::setw(9) << tally.stolen
        << std::setw(9) << tally.parked << std::setw(6)
        << std::lround(100 * tally.cpu_seconds / report.crew.seconds) << " %";
    std::cout << in_colour(worker, look, row.str()) << '\n';
    ++worker;
  }
  const auto& [workers, crew, one_thread] = report;
  std::cout << std::fixed << std::setprecision(2)  //
            << "\nthe crew     " << crew.seconds << " s"
            << "\none thread   " << one_thread.seconds << " s, "
            << one_thread.seconds / crew.seconds << " times as long"
            << "\nchecksums    " << std::hex << crew.checksum << " and " << one_thread.checksum
            << (crew.checksum == one_thread.checksum ? ": the same picture\n"
                                                     : ": NOT the same picture\n");
}
