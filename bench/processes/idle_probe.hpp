// idle_probe.hpp: what a hundred workers that have nothing to do cost the process of their pool.
//
// Measured in a fresh process, this program again: memory that other pools have left behind would
// be taken for free.
#pragma once

#include <optional>

namespace muster::bench {

struct IdleCosts {
  double cpu_percent = 0;     // of one CPU
  double memory_mb = 0;       // that the process has for itself; segments are shared
  double health_pass_ms = 0;  // CPU time of looking after all workers once
};

IdleCosts probe_idle_costs();

// Early in main(): if the command line names the probe, runs it and returns the exit code.
std::optional<int> run_idle_probe(int argc, char** argv);

}  // namespace muster::bench
