// respawn.cpp: budgets of deaths, and the pauses when they are spent.
#include <algorithm>
#include <string>

#include <muster/policy/respawn.hpp>

#include "option_text.hpp"

namespace muster {

std::vector<BadField> validate(const RespawnOptions& options) {
  std::vector<BadField> bad;
  const auto check = [&bad](const char* field, std::size_t deaths) {
    if (deaths < 1) bad.push_back({field, std::to_string(deaths), "must be at least 1"});
  };
  check("deaths_before_ready", options.deaths_before_ready);
  check("deaths_after_ready", options.deaths_after_ready);
  if (options.period <= Duration::zero()) {
    bad.push_back({"period", option_text(options.period), "must be more than 0"});
  }
  options.pause.check("pause", bad);
  return bad;
}

bool Respawn::note_death(Stage stage, Time now) {
  std::deque<Time>& recent = deaths(stage);
  while (!recent.empty() && now - recent.front() >= options_.period) recent.pop_front();
  recent.push_back(now);
  const std::size_t budget =
      stage == Stage::before_ready ? options_.deaths_before_ready : options_.deaths_after_ready;
  if (recent.size() <= budget) return false;
  recent.pop_front();
  if (now < pause_ends_) return false;  // of those who were alive when it began
  if (pauses_ > 0 && now - pause_ends_ >= options_.period) pauses_ = 0;
  pause_ends_ = now + options_.pause.after(++pauses_);
  return true;
}

Time Respawn::next_spawn(Time now) const noexcept {
  return std::max(now, pause_ends_);
}

}  // namespace muster
