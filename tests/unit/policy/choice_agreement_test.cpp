// choice_agreement_test.cpp: choose() picks as the Strategy objects do, up to 16 workers, while
// tasks come, go and differ.
//
// What choose() needs to know is kept here in the plainest way, apart from either.
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/policy/choice.hpp>
#include <muster/strategy.hpp>

#include "unit/policy/fake_crew.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using testing::FakeCrew;

// What every worker did of late; after as many tasks as there are workers, all is reduced to 0.7.
class PlainHistory {
 public:
  explicit PlainHistory(std::size_t workers) : used(workers), consumed(workers) {}

  void finish(std::size_t worker, Duration duration) {
    used[worker] += 1;
    consumed[worker] += static_cast<double>(duration.count());
    if (++ended_ < used.size()) return;
    ended_ = 0;
    for (double& each : used) each *= 0.7;
    for (double& each : consumed) each *= 0.7;
  }

  std::vector<double> used;
  std::vector<double> consumed;  // nanoseconds

 private:
  std::size_t ended_ = 0;
};

Duration mean_of_known(FakeCrew& crew) {
  Duration sum{};
  int known = 0;
  for (const WorkerInfo& worker : crew.workers()) {
    if (worker.average_task_time == Duration::zero()) continue;
    sum += worker.average_task_time;
    ++known;
  }
  if (known > 0) return sum / known;
  std::uint32_t estimated = 0;
  for (const WorkerInfo& worker : crew.workers()) {
    estimated += worker.estimated;
    sum += worker.estimated_time;
  }
  return estimated > 0 ? sum / estimated : Duration::zero();
}

WorkerLoad load_of(FakeCrew& crew, const PlainHistory& history, std::size_t number) {
  const WorkerInfo& worker = crew[number];
  const auto pending = static_cast<std::uint32_t>(FakeCrew::pending(worker));
  return {.pending = pending,
          .idle = pending == 0,
          .used = history.used[number],
          .consumed = Duration(std::llround(history.consumed[number])),
          .average = mean_of_known(crew),
          .estimated = worker.estimated,
          .estimates = worker.estimated_time,
          .utilisation = static_cast<float>(worker.utilisation)};
}

// Ends some of what runs, says of some of the rest what it is expected to take, and lets time pass.
void live_on(FakeCrew& crew, PlainHistory& history, Strategy& strategy, Random& random) {
  for (std::size_t worker = 0; worker < crew.workers().size(); ++worker) {
    // A multiple of 1/64 is the same as float and as double.
    if (random.chance(0.2)) {
      crew[worker].utilisation = static_cast<double>(random.below(65)) / 64;
    }
    if (random.chance(0.2)) {
      const auto pending = static_cast<std::uint32_t>(FakeCrew::pending(crew[worker]));
      crew[worker].estimated = static_cast<std::uint32_t>(random.below(pending + 1));
      crew[worker].estimated_time = crew[worker].estimated * Duration(random.below(100'000));
    }
    if (crew[worker].active == 0 || !random.chance(0.3)) continue;
    const Duration duration(1 + random.below(random.chance(0.1) ? 1'000'000 : 1000));
    crew.finish(worker, duration, strategy);
    history.finish(worker, duration);
  }
}

struct Agreement {
  int same = 0;
  int ties = 0;  // another worker, of the same cost
};

// Places many tasks by the strategy, and asks choose() each time. Roundings may decide a tie.
Agreement compare(BuiltIn built_in, std::size_t workers, Random& random) {
  const auto strategy = make_strategy(built_in);
  FakeCrew crew(workers);
  PlainHistory history(workers);
  for (const WorkerInfo& worker : crew.workers()) strategy->on_worker_added(worker);
  Rotation turn;
  Agreement agreement;
  for (int step = 0; step < 150; ++step) {
    const auto load = [&](std::size_t i) { return load_of(crew, history, i); };
    const std::size_t chosen = choose(built_in, workers, turn, random, load);
    const std::size_t selected = strategy->select(crew.workers(), {}).value().worker;
    if (chosen == selected) {
      ++agreement.same;
    } else {
      ++agreement.ties;
      turn.next = selected + 1;
      const double expected = cost(built_in, load(selected));
      // 0.7 to the n is not quite 0.7 * 0.7 ..., and loads have whole nanoseconds.
      const double rounding = built_in == BuiltIn::fair_share ? 1 : 0;
      EXPECT_NEAR(cost(built_in, load(chosen)), expected, 1e-9 * (1 + expected) + rounding)
          << to_string(built_in) << " among " << workers << ", step " << step;
    }
    crew.queue(selected);
    if (random.chance(0.6)) live_on(crew, history, *strategy, random);
  }
  return agreement;
}

TEST(ChoiceAgreement, UpToSixteenWorkersChooseAndStrategiesPickTheSame) {
  Random random = testing::seeded();
  for (const BuiltIn built_in :
       {BuiltIn::round_robin, BuiltIn::least_used, BuiltIn::least_busy, BuiltIn::least_elu,
        BuiltIn::fair_share, BuiltIn::weighted_round_robin, BuiltIn::interleaved_weighted}) {
    Agreement sum;
    for (std::size_t workers = 1; workers <= kLookAtAll; ++workers) {
      const Agreement agreement = compare(built_in, workers, random);
      sum.same += agreement.same;
      sum.ties += agreement.ties;
    }
    EXPECT_LE(sum.ties, sum.same / 50) << to_string(built_in);
  }
}

}  // namespace
}  // namespace muster
