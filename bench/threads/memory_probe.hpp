// memory_probe.hpp: how much memory a pool holds.
//
// A process that has run other pools has free memory left that the next one takes without asking
// the kernel, so each figure comes from a fresh process: this program again, with a probe's name
// for a command line. Figures are resident memory that is no file's, page by page, as
// /proc/self/smaps has it.
#pragma once

#include <optional>

namespace muster::bench {

// Kibibytes for each worker more, without the worker's stack; thread-local storage lies there too.
double kib_per_worker(const char* contender);

// Kibibytes for 1000 small tasks that wait while all workers are busy.
double kib_per_thousand_tasks(const char* contender);

// First thing in main(): if the command line names a probe, runs it and returns the exit code.
std::optional<int> run_memory_probe(int argc, char** argv);

}  // namespace muster::bench
