// families.cpp: which metrics there are, what they are called, and what is in them.
#include "export/families.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>

#include <muster/base/utf8.hpp>
#include <muster/observe/worker_state.hpp>

namespace muster {
namespace {

constexpr std::size_t kMostBuckets = 200;

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// The points of one family, gathered pool by pool.
class FamilyBuilder {
 public:
  FamilyBuilder(std::span<const NamedSnapshot> pools, Family family)
      : pools_(pools), family_(std::move(family)) {}

  // `read` gives the figure of a pool.
  template <class Read>
  FamilyBuilder& with(const Labels& labels, const Read& read) {
    for (const NamedSnapshot& pool : pools_) add(pool.pool, labels, read(pool.snapshot));
    return *this;
  }

  // `read` gives the figure of a worker.
  template <class Read>
  FamilyBuilder& with_each_worker(const Read& read) {
    for (const NamedSnapshot& pool : pools_) {
      for (const PoolSnapshot::Worker& worker : pool.snapshot.workers) {
        add(pool.pool, {{"worker", std::to_string(worker.id)}}, read(worker));
      }
    }
    return *this;
  }

  Family done() { return std::move(family_); }

 private:
  template <class Value>
  void add(const std::string& pool, const Labels& labels, Value value) {
    Point point{.labels = {{"pool", pool}}, .value = std::move(value)};
    point.labels.insert(point.labels.end(), labels.begin(), labels.end());
    family_.points.push_back(std::move(point));
  }

  std::span<const NamedSnapshot> pools_;
  Family family_;
};

class Families {
 public:
  Families(std::span<const NamedSnapshot> pools, const MetricOptions& options)
      : pools_(pools), options_(options) {}

  std::vector<Family> all() {
    add_tasks();
    add_queue();
    add_workers();
    add_scaling();
    add_affinity();
    add_back_pressure();
    return std::move(families_);
  }

 private:
  using Snapshot = PoolSnapshot;

  FamilyBuilder family(FamilyKind kind, std::string_view name, std::string_view unit,
                       std::string_view help) {
    return {pools_, {.name = name, .help = help, .unit = unit, .kind = kind, .points = {}}};
  }
  void keep(FamilyBuilder& builder) { families_.push_back(builder.done()); }

  HistogramFigures figures(const HistogramSnapshot& seen) const {
    HistogramFigures figures{.count = seen.count(),
                             .sum_seconds = std::chrono::duration<double>(seen.sum()).count(),
                             .up_to = {}};
    for (const Duration bound : options_.buckets) figures.up_to.push_back(seen.count_up_to(bound));
    return figures;
  }

  void add_tasks() {
    keep(family(FamilyKind::counter, "muster.tasks", "{task}", "Tasks by what became of them.")
             .with({{"status", "succeeded"}}, [](const Snapshot& s) { return s.tasks.succeeded; })
             .with({{"status", "failed"}}, [](const Snapshot& s) { return s.tasks.failed; })
             .with({{"status", "rejected"}},
                   [](const Snapshot& s) { return s.back_pressure.rejected; })
             .with({{"status", "dropped"}}, [](const Snapshot& s) {
               return s.back_pressure.dropped_oldest + s.back_pressure.dropped_newest;
             }));
    keep(family(FamilyKind::histogram, "muster.task.duration", "s",
                "How long tasks ran, as far as they are timed.")
             .with({}, [this](const Snapshot& s) { return figures(s.latency.run); }));
  }

  void add_queue() {
    keep(family(FamilyKind::histogram, "muster.queue.wait", "s",
                "How long tasks waited from being accepted to their start, as far as they are "
                "timed.")
             .with({}, [this](const Snapshot& s) { return figures(s.latency.queue_wait); }));
    keep(family(FamilyKind::gauge, "muster.queue.size", "{task}", "Tasks that wait now.")
             .with({}, [](const Snapshot& s) { return s.queue.size; }));
    keep(family(FamilyKind::counter, "muster.queue.enqueued", "{task}", "Tasks accepted.")
             .with({}, [](const Snapshot& s) { return s.queue.enqueued; }));
    keep(family(FamilyKind::counter, "muster.queue.dequeued", "{task}",
                "Tasks taken from a queue, to be run or dropped.")
             .with({}, [](const Snapshot& s) { return s.queue.dequeued; }));
    keep(family(FamilyKind::counter, "muster.steals", "{task}",
                "Tasks taken by another worker than they waited with.")
             .with({}, [](const Snapshot& s) { return s.queue.stolen; }));
  }

  void add_workers() {
    using enum WorkerState;
    FamilyBuilder by_state =
        family(FamilyKind::gauge, "muster.workers", "{worker}", "Workers by state.");
    for (const WorkerState state :
         {cold, warming, ready, busy, draining, terminating, terminated, failed, zombie}) {
      by_state.with({{"state", std::string(to_string(state))}}, [state](const Snapshot& s) {
        return static_cast<std::uint64_t>(
            std::ranges::count(s.workers, state, &PoolSnapshot::Worker::state));
      });
    }
    keep(by_state);
    keep(family(FamilyKind::gauge, "muster.worker.utilisation", "1",
                "Share of recent time in which the worker was busy.")
             .with_each_worker([](const PoolSnapshot::Worker& w) { return w.utilisation; }));
    keep(family(FamilyKind::gauge, "muster.worker.queue.size", "{task}",
                "Tasks that wait with the worker.")
             .with_each_worker([](const PoolSnapshot::Worker& w) { return w.queued; }));
    keep(family(FamilyKind::counter, "muster.worker.tasks", "{task}",
                "Tasks of the worker that ended.")
             .with_each_worker([](const PoolSnapshot::Worker& w) { return w.completed; }));
    keep(family(FamilyKind::gauge, "muster.worker.weight", "{share}",
                "Relative share of work that the worker is meant to get.")
             .with_each_worker([](const PoolSnapshot::Worker& w) { return w.weight; }));
  }

  void add_scaling() {
    keep(family(FamilyKind::counter, "muster.scalings", "{change}",
                "Times that workers were added or removed.")
             .with({{"direction", "up"}}, [](const Snapshot& s) { return s.scaling.ups; })
             .with({{"direction", "down"}}, [](const Snapshot& s) { return s.scaling.downs; }));
    keep(family(FamilyKind::gauge, "muster.scaling.workers", "{worker}", "Workers of the pool.")
             .with({}, [](const Snapshot& s) { return std::uint64_t{s.scaling.current}; }));
  }

  void add_affinity() {
    keep(family(FamilyKind::counter, "muster.affinity.tasks", "{task}",
                "Tasks with an affinity key: hit if they ran where it belongs.")
             .with({{"result", "hit"}}, [](const Snapshot& s) { return s.affinity.hits; })
             .with({{"result", "miss"}}, [](const Snapshot& s) { return s.affinity.misses; }));
    keep(family(FamilyKind::counter, "muster.affinity.moves", "{key}",
                "Affinity keys that went to another worker.")
             .with({}, [](const Snapshot& s) { return s.affinity.moves; }));
    keep(family(FamilyKind::gauge, "muster.affinity.sessions", "{key}",
                "Affinity keys that are remembered now.")
             .with({}, [](const Snapshot& s) { return s.affinity.sessions; }));
  }

  void add_back_pressure() {
    keep(family(FamilyKind::counter, "muster.back_pressure.tasks", "{task}",
                "Tasks that met a full queue, by what was done about it.")
             .with({{"policy", "reject"}},
                   [](const Snapshot& s) { return s.back_pressure.rejected; })
             .with({{"policy", "drop_oldest"}},
                   [](const Snapshot& s) { return s.back_pressure.dropped_oldest; })
             .with({{"policy", "drop_newest"}},
                   [](const Snapshot& s) { return s.back_pressure.dropped_newest; })
             .with({{"policy", "block"}}, [](const Snapshot& s) { return s.back_pressure.blocked; })
             .with({{"policy", "caller_runs"}},
                   [](const Snapshot& s) { return s.back_pressure.caller_ran; }));
    keep(family(FamilyKind::counter, "muster.back_pressure.block_timeouts", "{task}",
                "Of the tasks whose sender had to wait, those for which it waited in vain.")
             .with({}, [](const Snapshot& s) { return s.back_pressure.block_timeouts; }));
    keep(family(FamilyKind::gauge, "muster.back_pressure.on", "{flag}",
                "1 from the high watermark on until the low one, else 0.")
             .with({}, [](const Snapshot& s) { return std::uint64_t{s.back_pressure.is_on}; }));
  }

  const std::span<const NamedSnapshot> pools_;
  const MetricOptions& options_;
  std::vector<Family> families_;
};

template <class Pools>
std::vector<BadField> validate_names(const Pools& pools) {
  std::vector<BadField> bad;
  std::set<std::string_view> seen;
  for (const auto& each : pools) {
    const char* rule = nullptr;
    if (each.pool.empty()) {
      rule = "must not be empty";
    } else if (to_utf8(each.pool) != each.pool) {
      rule = "must be UTF-8";
    } else if (!seen.insert(each.pool).second) {
      rule = "must not be another pool's name too";
    }
    if (rule != nullptr) {
      bad.push_back({.field = "pool", .value = '"' + to_utf8(each.pool) + '"', .rule = rule});
    }
  }
  return bad;
}

}  // namespace

double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::vector<Family> families_of(std::span<const NamedSnapshot> pools,
                                const MetricOptions& options) {
  return Families(pools, options).all();
}

std::vector<BadField> validate(const MetricOptions& options) {
  std::vector<BadField> bad;
  if (options.buckets.empty() || options.buckets.size() > kMostBuckets) {
    bad.push_back({.field = "buckets",
                   .value = std::to_string(options.buckets.size()) + " bounds",
                   .rule = "must have from 1 to " + std::to_string(kMostBuckets)});
  }
  Duration before{0};
  for (std::size_t i = 0; i < options.buckets.size(); ++i) {
    const Duration bound = options.buckets[i];
    if (bound <= before) {
      bad.push_back({.field = "buckets[" + std::to_string(i) + "]",
                     .value = std::to_string(bound.count()) + " ns",
                     .rule = "must be more than " +
                             (i == 0 ? "0" : std::to_string(before.count()) + " ns before it")});
    }
    before = bound;
  }
  return bad;
}

std::vector<BadField> validate(std::span<const NamedSnapshot> pools) {
  return validate_names(pools);
}

std::vector<BadField> validate(std::span<const PoolSource> pools) {
  std::vector<BadField> bad = validate_names(pools);
  for (const PoolSource& each : pools) {
    if (!each.snapshot) {
      bad.push_back({.field = "snapshot of pool \"" + to_utf8(each.pool) + '"',
                     .value = "empty",
                     .rule = "must be callable"});
    }
  }
  return bad;
}

std::vector<NamedSnapshot> snapshots_of(std::span<const PoolSource> pools) {
  std::vector<NamedSnapshot> snapshots;
  for (const PoolSource& each : pools) {
    snapshots.push_back({.pool = each.pool, .snapshot = each.snapshot()});
  }
  return snapshots;
}

}  // namespace muster
