// sc_order.hpp: which executions sequentially consistent accesses and fences rule out.
//
// The memory (memory.hpp) lets a load read any value that coherence and happens-before allow. On
// top of that, the seq_cst events of an execution must fit into one order. This class holds the
// execution as a graph and says whether they still do, after the RC11 definition of `psc` (Lahav,
// Vafeiadis, Kang, Hur, Dreyer 2017), which is what C++20 adopted: psc_base and psc_F must have no
// cycle. Nothing is assumed about the order of execution, so a seq_cst load may well read something
// old, if no cycle arises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::explore {

inline constexpr std::size_t kMaxThreads = 6;  // 0 sets up and checks, the others run

// How many events of each thread are known to have happened before.
using Clock = std::array<std::uint16_t, kMaxThreads>;

enum class EventKind : std::uint8_t { read, write, fence };

struct Event {
  EventKind kind = EventKind::fence;  // a read-modify-write is a write
  bool seq_cst = false;
  std::uint8_t thread = 0;
  std::uint16_t location = 0;
  std::uint16_t position = 0;  // in the location's modification order: written, or read from
  Clock before{};              // before[thread] is its own number within its thread
};

class ScOrder {
 public:
  void clear();

  // Adds the next executed event. False if no order of the seq_cst events exists any more.
  bool add(const Event& event);

 private:
  using Set = std::uint64_t;  // of seq_cst events, by their number
  static constexpr std::uint16_t kNone = 0xffff;

  struct Node {
    Event event;
    Set self = 0;     // itself, if it is seq_cst
    Set fences = 0;   // seq_cst fences that happen before it, or itself
    Set base_in = 0;  // where an edge of psc_base into a later fence would come from
    Set eco_in = 0;   // likewise for psc_F
    std::uint16_t next_elsewhere =
        kNone;  // number of the next event of its thread at another location
    [[nodiscard]] Set from() const { return self | fences; }
  };

  static bool happens_before(const Event& a, const Event& b);
  [[nodiscard]] bool scb(const Node& a, const Node& b) const;
  void link_thread(std::size_t added);
  void relate(Node& older, Node& added);
  void close_fence(Node& fence);
  [[nodiscard]] Set fences_after(const Node& node) const;
  void add_edges(Set from, Set to);

  std::vector<Node> nodes_;
  std::array<std::vector<std::uint16_t>, kMaxThreads> threads_;  // nodes of each thread
  std::vector<std::uint16_t> sc_nodes_;                          // node of each seq_cst event
  std::array<Set, 64> reaches_{};                                // transitive closure of psc
  bool consistent_ = true;
};

}  // namespace muster::explore
