// enqueue_cells.cpp: jobs by the thousand, each thousand synced before the next.
#include "jobs/cells.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/peers.hpp"
#include "jobs/raw_postgres.hpp"
#include "jobs/raw_sqlite.hpp"
#include "jobs/sizes.hpp"
#include "jobs/timing.hpp"

namespace muster::bench {
namespace {

// Bytes are counted from the first job on.
template <class Work>
Sample measured(const Place& place, std::uint64_t jobs, const Work& work) {
  const std::uint64_t before = place.written_bytes();
  const double seconds = seconds_of(work);
  return speed_sample(jobs, seconds, {per_job(place.written_bytes() - before, jobs)});
}

Sample enqueue_by_muster(StoreKind kind, Ids ids, std::uint64_t jobs) {
  const Place place(kind);
  const MeasuredPool pool(place.url());
  const Mails mails = make_mails({0, jobs}, ids);
  return measured(place, jobs, [&pool, &mails] { pool.enqueue(mails, Durability::synced); });
}

template <class Raw>
Sample enqueue_by(Raw& raw, const Place& place, const std::vector<EncodedJob>& mails) {
  return measured(place, mails.size(), [&raw, &mails] {
    for_each_batch(mails, [&raw](std::span<const EncodedJob> batch) { raw.insert(batch); });
  });
}

Sample enqueue_raw(StoreKind kind, Ids ids, std::uint64_t jobs) {
  const Place place(kind);
  const std::vector<EncodedJob> mails = encoded_mails(make_mails({0, jobs}, ids));
  if (kind == StoreKind::sqlite) {
    RawSqlite raw(place);
    return enqueue_by(raw, place, mails);
  }
  RawPostgres raw(place.url());
  return enqueue_by(raw, place, mails);
}

Cell enqueue_cell(const std::string& name, StoreKind kind, Ids ids) {
  Cell cell{.group = kEnqueueGroup,
            .name = name,
            .contenders = {},
            .columns = {{kEnqueueGroup, name, Better::higher}, {kEnqueueBytesGroup, name}},
            .items = kind == StoreKind::sqlite ? sizes().enqueue_sqlite : sizes().enqueue_postgres,
            .warm_up = Cell::WarmUp::none};
  if (muster_has(kind)) {
    cell.contenders.push_back(
        {kMuster, [kind, ids](std::uint64_t jobs) { return enqueue_by_muster(kind, ids, jobs); }});
  }
  if (can_have(kind)) {
    cell.contenders.push_back(
        {kRawLoop, [kind, ids](std::uint64_t jobs) { return enqueue_raw(kind, ids, jobs); }});
  }
  for (Contender& peer : peers_that(PeerWork::enqueue, kind))
    cell.contenders.push_back(std::move(peer));
  return cell;
}

}  // namespace

std::vector<Cell> enqueue_cells() {
  return {enqueue_cell(kSequential, StoreKind::sqlite, Ids::sequential),
          enqueue_cell(kRandom, StoreKind::sqlite, Ids::random),
          enqueue_cell(to_text(StoreKind::postgres), StoreKind::postgres, Ids::sequential)};
}

}  // namespace muster::bench
