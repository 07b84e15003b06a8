// arrival_trend.hpp: where the rate of arrivals is heading.
//
//     ArrivalTrend trend(std::chrono::seconds(5));
//     trend.observe(now, arrivals);                                  // again and again
//     const double rate = trend.rate_after(std::chrono::seconds(10));
//
// Two averages of the rate, one quicker than the other. On a steady slope each lags behind by its
// own time constant, so their distance tells the slope. A slope that chance may have made counts as
// none.
//
// Thread safety: none; its user guards it.
// Design note: docs/design/scaling.md
#pragma once

#include <cstdint>
#include <optional>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>

namespace muster {

class MUSTER_API ArrivalTrend {
 public:
  // Up to so many standard deviations may be chance. With three, one in a hundred steady loads was
  // answered by adding a worker and removing it again.
  static constexpr double kChance = 4;

  // Requires: more than 0. The time constant of the quick average; the slow one's is three times
  // it.
  explicit ArrivalTrend(Duration smoothing);

  // `arrivals`: all so far. A time that is not after the last one is passed over.
  void observe(Time now, std::uint64_t arrivals);

  // Tasks per second.
  [[nodiscard]] double rate() const;

  // How far rate() is off by chance at a steady load: the standard deviation, if tasks come
  // independently of each other.
  [[nodiscard]] double rate_noise() const;

  // If the slope stays what it is, and it goes up; otherwise rate().
  [[nodiscard]] double rate_after(Duration ahead) const;

 private:
  double slope() const;

  struct Seen {
    Time time;
    std::uint64_t arrivals;
  };

  // Fixed at construction; in seconds.
  double quick_time_;
  double slow_time_;

  std::optional<Seen> last_;
  std::optional<double> quick_;
  double slow_ = 0;
};

}  // namespace muster
