// recent_work.cpp: differences of totals, decaying.
#include <algorithm>

#include <muster/policy/recent_work.hpp>

namespace muster {

void RecentWork::update(Time now, std::span<const Totals> totals) {
  updated_ = now;
  if (!began_) began_ = now;
  set_workers(totals);
  const std::uint64_t round_before = round_;
  round_ = static_cast<std::uint64_t>(std::max(now - *began_, Duration::zero()) / kRound);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    // A racy total may seem to have gone back a little.
    const Totals after{.done = std::max(totals[i].done, worker.seen.done),
                       .busy = std::max(totals[i].busy, worker.seen.busy)};
    worker.used.add(static_cast<double>(after.done - worker.seen.done), round_);
    worker.consumed.add(static_cast<double>((after.busy - worker.seen.busy).count()), round_);
    worker.seen = after;
  }
  if (round_ != round_before) measure_speeds();
}

void RecentWork::set_workers(std::span<const Totals> totals) {
  if (totals.size() < workers_.size()) workers_.resize(totals.size());
  if (totals.size() == workers_.size()) return;
  std::vector<WorkerLoad> others;
  others.reserve(workers_.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) others.push_back(load(i));
  const WorkerLoad least = starting_load(others);
  while (workers_.size() < totals.size()) {
    const Totals& seen = totals[workers_.size()];
    workers_.push_back({.seen = seen,
                        .measured = seen,
                        .used = Decaying(least.used, round_),
                        .consumed = Decaying(static_cast<double>(least.consumed.count()), round_)});
  }
}

void RecentWork::measure_speeds() {
  std::vector<MeasuredWeights::Work> work;
  for (Worker& worker : workers_) {
    work.push_back({.tasks = worker.seen.done - worker.measured.done,
                    .busy = worker.seen.busy - worker.measured.busy});
    worker.measured = worker.seen;
  }
  speeds_.record(work);
}

WorkerLoad RecentWork::load(std::size_t worker) const {
  if (worker >= workers_.size()) return {};
  const double consumed = workers_[worker].consumed.at(round_);
  return {.used = workers_[worker].used.at(round_),
          .consumed = Duration(static_cast<Duration::rep>(consumed))};
}

WorkerLoad RecentWork::load(std::size_t worker, const Totals& now) const {
  WorkerLoad load = this->load(worker);
  if (worker >= workers_.size()) return load;
  const Totals& seen = workers_[worker].seen;
  if (now.done > seen.done) load.used += static_cast<double>(now.done - seen.done);
  if (now.busy > seen.busy) load.consumed += now.busy - seen.busy;
  return load;
}

}  // namespace muster
