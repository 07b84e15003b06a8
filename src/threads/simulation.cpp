// simulation.cpp: who plays next.
#include <algorithm>

#include <muster/base/assert.hpp>
#include <muster/error.hpp>
#include <muster/simulation.hpp>
#include <muster/sync/future_state.hpp>

#include "threads/crew.hpp"
#include "threads/timers.hpp"

namespace muster {

Simulation::Simulation(std::uint64_t seed) : random_(seed) {
  MUSTER_ASSERT(current_player == nullptr, "one simulation at a time on a thread");
  current_player = this;
}

Simulation::~Simulation() {
  MUSTER_ASSERT(crews_.empty(), "a simulation outlives its pools");
  current_player = nullptr;
}

void Simulation::leave(const Crew& crew) noexcept {
  std::erase(crews_, &crew);
}

void Simulation::run_for(Duration duration) {
  const Time until = deadline_after(duration);
  while (play(until) == Played::something) {
  }
}

bool Simulation::step() {
  std::vector<Worker*> idle;
  for (Crew* const crew : crews_) crew->add_idle_workers(idle);
  while (!idle.empty()) {
    const std::size_t chosen = random_.below(idle.size());
    if (idle[chosen]->play_one()) return true;
    idle[chosen] = idle.back();
    idle.pop_back();
  }
  return false;
}

std::optional<Time> Simulation::next_due() const {
  std::optional<Time> first;
  for (Crew* const crew : crews_) {
    const std::optional<Time> due = crew->timers()->next_due();
    if (due && (!first || *due < *first)) first = due;
    if (!crew->options().stealing.enabled) continue;
    std::vector<Worker*> idle;
    crew->add_idle_workers(idle);
    for (const Worker* const worker : idle) {
      const Time ends = worker->patience_ends();
      if (ends != Time::max() && (!first || ends < *first)) first = ends;
    }
  }
  return first;
}

Player::Played Simulation::play(Time until) {
  if (step()) return Played::something;
  const std::optional<Time> due = next_due();
  const Time next = std::min(due.value_or(Time::max()), until);
  if (next == Time::max()) return Played::nothing;
  if (next > now()) clock_.advance(next - now());
  if (!due || *due > until) return Played::too_late;
  for (const Crew* const crew : crews_) crew->timers()->act_on_due();
  return Played::something;
}

}  // namespace muster
