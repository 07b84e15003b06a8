// execute_cells.cpp: empty jobs, all of them waiting, until the last one is settled.
//
// muster's time begins with start(), which reads what waits; that of peers when they are warm.
#include <optional>

#include "jobs/cells.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/peers.hpp"
#include "jobs/sizes.hpp"
#include "jobs/timing.hpp"

namespace muster::bench {
namespace {

Sample execute_by_muster(StoreKind kind, std::uint64_t jobs) {
  const Place place(kind);
  std::optional<MeasuredPool> pool(std::in_place, place.url());
  const std::uint64_t before = place.written_bytes();
  pool->enqueue(make_mails({0, jobs}, Ids::sequential), Durability::synced);
  place.rest();
  const double seconds = seconds_of([&pool] {
    pool->start();
    pool->drain();
  });
  pool->verify(jobs);
  std::vector<double> costs{per_job(place.written_bytes() - before, jobs)};
  pool.reset();
  if (kind == StoreKind::postgres) costs.push_back(per_job(place.dead_tuples(), jobs));
  return speed_sample(jobs, seconds, std::move(costs));
}

}  // namespace

std::vector<Cell> execute_cells() {
  std::vector<Cell> cells;
  for (const StoreKind kind : {StoreKind::sqlite, StoreKind::postgres}) {
    const std::string name = to_text(kind);
    Cell cell{.group = kExecuteGroup,
              .name = name,
              .contenders = {},
              .columns = {{kExecuteGroup, name, Better::higher}, {kExecuteBytesGroup, name}},
              .items = sizes().execute_sqlite,
              .warm_up = Cell::WarmUp::none};
    if (kind == StoreKind::postgres) {
      cell.items = sizes().execute_postgres;
      cell.columns.push_back({kDeadGroup, "per job"});
    }
    if (muster_has(kind)) {
      cell.contenders.push_back(
          {kMuster, [kind](std::uint64_t jobs) { return execute_by_muster(kind, jobs); }});
    }
    for (Contender& peer : peers_that(PeerWork::execute, kind))
      cell.contenders.push_back(std::move(peer));
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace muster::bench
