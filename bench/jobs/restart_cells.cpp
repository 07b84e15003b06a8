// restart_cells.cpp: a store in which a million jobs wait is opened again. How long until it has
// been started, and until the first of them is run? The kernel has the files in memory.
#include <chrono>
#include <fstream>
#include <malloc.h>
#include <semaphore>
#include <stdexcept>
#include <unistd.h>

#include <muster/sync/atomic.hpp>

#include "jobs/cells.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/sizes.hpp"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Made when it is first needed; every restart takes a few of its jobs.
struct FullStore {
  explicit FullStore(StoreKind kind) : place(kind) {
    {
      const MeasuredPool pool(place.url());
      pool.fill({0, sizes().restart_waiting});
    }
    place.rest();
  }

  Place place;
};

const std::string& url_of_full_store(StoreKind kind) {
  if (kind == StoreKind::sqlite) {
    static const FullStore kSqlite(StoreKind::sqlite);
    return kSqlite.place.url();
  }
  static const FullStore kPostgres(StoreKind::postgres);
  return kPostgres.place.url();
}

// Of this process, without what it has freed.
double resident_megabytes() {
  constexpr double kMega = 1e6;
  malloc_trim(0);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMega;
}

Sample restart(StoreKind kind) {
  const std::string& url = url_of_full_store(kind);
  const double before = resident_megabytes();
  Atomic<bool> is_first = true;
  std::binary_semaphore is_run(0);
  const Clock::time_point start = Clock::now();
  MeasuredPool pool(url, [&is_first, &is_run](const Mail& /*mail*/) {
    if (is_first.load(relaxed) && is_first.exchange(false, relaxed)) {  // relaxed: one is enough
      is_run.release();
    }
  });
  pool.start();
  const double started = seconds_since(start);
  if (!is_run.try_acquire_for(std::chrono::minutes(5))) {
    throw std::runtime_error("after a restart no job was run within five minutes");
  }
  const double first_run = seconds_since(start);
  return {.items = 1, .seconds = 1, .figures = {started, first_run, resident_megabytes() - before}};
}

}  // namespace

std::vector<Cell> restart_cells() {
  std::vector<Cell> cells;
  for (const StoreKind kind : stores_of_muster()) {
    const std::string name = to_text(kind);
    cells.push_back(
        {.group = kRestartGroup,
         .name = name,
         .contenders = {{kMuster, [kind](std::uint64_t /*items*/) { return restart(kind); }}},
         .columns = {{kRestartGroup, name + ", started"},
                     {kRestartGroup, name + kFirstJob},
                     {kMemoryGroup, name}},
         .items = 1,
         .warm_up = Cell::WarmUp::none});
  }
  return cells;
}

}  // namespace muster::bench
