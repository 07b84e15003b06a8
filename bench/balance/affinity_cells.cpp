// affinity_cells.cpp: how often does a task find what it needs in its worker's cache, if tasks with
// the same key go to the same worker, and if they do not?
//
// Each worker has a cache that keeps the values of the 64 keys it used last, and there are 512
// keys: all caches together could hold each of them once. A task whose value is there takes 0.1 ms,
// any other 1 ms. Tasks come independently, so many that workers are busy for 30 or 70 % of the
// time if one in eight finds its value. The first of them only fill the caches.
//
// How busy they are matters: an idle worker steals a soft task whose worker is at work for longer
// than its patience, does not find its value, and is at work the longer for it.
#include <algorithm>
#include <array>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include <muster/sync/cache_line.hpp>
#include <muster/thread_pool.hpp>

#include "balance/cells.hpp"
#include "balance/sleeping.hpp"

namespace muster::bench {
namespace {

constexpr unsigned kWorkers = 8;
constexpr std::size_t kKeys = 512;
constexpr std::size_t kRoom = kKeys / kWorkers;
constexpr Duration kWithValue = std::chrono::microseconds(100);
constexpr Duration kWithoutValue = std::chrono::milliseconds(1);
constexpr double kMeanTaskSecondsWithoutKeys = (1 * 0.1e-3 + 7 * 1e-3) / 8;
constexpr std::uint64_t kFillingTasks = 1500;
constexpr std::uint64_t kTasks = 2000;
constexpr unsigned kRounds = 2;

// Forgets whatever was not used for longest.
class Cache {
 public:
  // Whether it was there; it is now.
  bool use(std::size_t key) {
    const auto found = places_.find(key);
    if (found != places_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, found->second);
      return true;
    }
    if (by_use_.size() == kRoom) {
      places_.erase(by_use_.back());
      by_use_.pop_back();
    }
    by_use_.push_front(key);
    places_.emplace(key, by_use_.begin());
    return false;
  }

 private:
  std::list<std::size_t> by_use_;
  std::unordered_map<std::size_t, std::list<std::size_t>::iterator> places_;
};

// By its own thread; by others when the pool is idle.
struct alignas(kCacheLine) Worker {
  Cache cache = {};
  std::uint64_t tasks = 0;
  std::uint64_t hits = 0;
};

enum class Popularity { even, zipf };

// Draws keys: each as often as any other, or the n-th as often as 1 / n says.
class Keys {
 public:
  explicit Keys(Popularity popularity) : up_to_(kKeys) {
    double sum = 0;
    for (std::size_t key = 0; key < kKeys; ++key) {
      sum += popularity == Popularity::even ? 1 : 1 / static_cast<double>(key + 1);
      up_to_[key] = sum;
    }
  }

  [[nodiscard]] std::size_t draw(Random& random) const {
    const auto found =
        std::upper_bound(up_to_.begin(), up_to_.end(), random.real() * up_to_.back());
    return static_cast<std::size_t>(found - up_to_.begin());
  }

 private:
  std::vector<double> up_to_;
};

struct Question {
  Popularity popularity = Popularity::even;
  double load = 0;
};

struct Keyed {
  std::string name;
  std::optional<AffinityClass> affinity = {};  // none: tasks have no key
};

TaskOptions options_of(const Keyed& keyed, std::size_t key) {
  if (!keyed.affinity) return {};
  return {.affinity = "key " + std::to_string(key), .affinity_class = *keyed.affinity};
}

Sample hits_of(const Keyed& keyed, const Question& question, std::uint64_t tasks, Random random) {
  std::vector<TaskOptions> options;
  for (std::size_t key = 0; key < kKeys; ++key) options.push_back(options_of(keyed, key));
  const Keys keys(question.popularity);
  const double per_second = question.load * kWorkers / kMeanTaskSecondsWithoutKeys;
  Plan plan;
  Duration at{};
  for (std::uint64_t i = 0; i < kFillingTasks + tasks; ++i) {
    at += random_gap(per_second, random);
    plan.push_back({.at = at});
  }

  std::array<Worker, kWorkers> workers{};
  ThreadPoolOptions pool_options = sleeping_options(kWorkers);
  pool_options.strategy = BuiltIn::round_robin;
  ThreadPool pool(pool_options);
  post_as_planned(plan, [&](std::size_t i) {
    const std::size_t key = keys.draw(random);
    pool.post(options[key], [&workers, key, counts = i >= kFillingTasks] {
      Worker& worker = workers[this_worker()];
      const bool hit = worker.cache.use(key);
      worker.tasks += counts ? 1 : 0;
      worker.hits += counts && hit ? 1 : 0;
      std::this_thread::sleep_for(hit ? kWithValue : kWithoutValue);
    });
  });
  pool.wait_idle();

  Worker sum;
  for (const Worker& worker : workers) {
    sum.tasks += worker.tasks;
    sum.hits += worker.hits;
  }
  if (sum.tasks != tasks) throw std::runtime_error("affinity: the count of tasks is wrong");
  return {.items = tasks,
          .seconds = milliseconds_of(at) / 1000,
          .figures = {100 * static_cast<double>(sum.hits) / static_cast<double>(tasks)}};
}

Contender contender(const Keyed& keyed, const Question& question) {
  // Counts its runs: in each round all contenders get the tasks of that round.
  return {keyed.name, [keyed, question, round = std::uint64_t{0}](std::uint64_t tasks) mutable {
            return hits_of(keyed, question, tasks, Random(++round));
          }};
}

}  // namespace

std::vector<Cell> affinity_cells() {
  std::vector<Cell> cells;
  for (const auto& [question, name] : {std::pair(Question{Popularity::even, 0.3}, kEvenKeysCalm),
                                       std::pair(Question{Popularity::even, 0.7}, kEvenKeysBusy),
                                       std::pair(Question{Popularity::zipf, 0.3}, kZipfKeysCalm),
                                       std::pair(Question{Popularity::zipf, 0.7}, kZipfKeysBusy)}) {
    Cell cell{.group = kAffinityGroup,
              .name = name,
              .contenders = {},
              .columns = {{kAffinityGroup, name, Better::higher}},
              .items = kTasks,
              .most_rounds = kRounds,
              .warm_up = Cell::WarmUp::none};
    for (const Keyed& keyed :
         {Keyed{.name = kWithoutKeys}, Keyed{.name = kSoftKeys, .affinity = AffinityClass::soft},
          Keyed{.name = kHardKeys, .affinity = AffinityClass::hard}}) {
      cell.contenders.push_back(contender(keyed, question));
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace muster::bench
