// member_lists.hpp: who of the workers can take a task, who has none, who has some; and how many.
//
// A member is in a list or not as its state says; whoever changes that brings the lists up to date.
// So nobody who places a task or asks for figures has to look at all of them.
//
// Thread safety: guarded by the supervisor's mutex, but for changes_approx().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <muster/sync/atomic.hpp>

#include "processes/member.hpp"

namespace muster {

class MemberLists {
 public:
  void update(Member& member) {
    const bool takes_tasks = member.takes_tasks();
    keep(roomy_, &Member::place_in_roomy, member, takes_tasks && member.in_flight < member.room);
    keep(idle_, &Member::place_in_idle, member, takes_tasks && member.in_flight == 0);
    const std::size_t were_busy = busy_.size();
    keep(busy_, &Member::place_in_busy, member, member.in_flight > 0 && member.segment != nullptr);
    // relaxed: a hint; only whoever has the mutex changes it.
    if (busy_.size() != were_busy) changes_.store(changes_.load(relaxed) + 1, relaxed);
    in_flight_ += member.in_flight;
    in_flight_ -= member.counted_in_flight;
    with_tasks_ += (member.in_flight > 0 ? 1U : 0U) - (member.counted_in_flight > 0 ? 1U : 0U);
    ready_ += (takes_tasks ? 1U : 0U) - (member.counted_ready ? 1U : 0U);
    member.counted_in_flight = member.in_flight;
    member.counted_ready = takes_tasks;
  }

  [[nodiscard]] const std::vector<Member*>& roomy() const noexcept { return roomy_; }  // + 1 task
  [[nodiscard]] const std::vector<Member*>& idle() const noexcept { return idle_; }    // of those
  [[nodiscard]] const std::vector<Member*>& busy() const noexcept { return busy_; }    // has a ring

  // How often busy() has changed. Any thread, as a hint.
  [[nodiscard]] std::uint64_t changes_approx() const noexcept {
    return changes_.load(relaxed);  // relaxed: racy by contract
  }

  [[nodiscard]] std::uint64_t in_flight() const noexcept { return in_flight_; }  // tasks
  [[nodiscard]] unsigned with_tasks() const noexcept { return with_tasks_; }     // members
  [[nodiscard]] unsigned ready() const noexcept { return ready_; }               // members

 private:
  static void keep(std::vector<Member*>& list, std::size_t Member::* place, Member& member,
                   bool is_in) {
    if (is_in != (member.*place != Member::kNowhere)) move(list, place, member, is_in);
  }

  // Into the list, or out of it. Not inline: three times this would be most of what a task runs
  // through.
  [[gnu::hot, gnu::noinline]] static void move(std::vector<Member*>& list,
                                               std::size_t Member::* place, Member& member,
                                               bool is_in) {
    if (is_in) {
      member.*place = list.size();
      list.push_back(&member);
      return;
    }
    Member* const last = list.back();
    list[member.*place] = last;
    last->*place = member.*place;
    list.pop_back();
    member.*place = Member::kNowhere;
  }

  std::vector<Member*> roomy_;
  std::vector<Member*> idle_;
  std::vector<Member*> busy_;
  std::uint64_t in_flight_ = 0;
  unsigned with_tasks_ = 0;
  unsigned ready_ = 0;

  // Any thread.
  Atomic<std::uint64_t> changes_ = 0;
};

}  // namespace muster
