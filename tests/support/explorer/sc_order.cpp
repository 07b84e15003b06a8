// sc_order.cpp: psc, kept up to date event by event.
#include "support/explorer/sc_order.hpp"

#include <bit>

#include <muster/base/assert.hpp>

namespace muster::explore {
namespace {

// Extended coherence order of two accesses of one location, from their places in its modification
// order.
bool eco(const Event& a, const Event& b) {
  if (a.kind == EventKind::write && b.kind == EventKind::read) return a.position <= b.position;
  return a.position < b.position;
}

// The part of eco that is modification order or reads-before.
bool overtakes(const Event& a, const Event& b) {
  return b.kind == EventKind::write && a.position < b.position;
}

bool same_location(const Event& a, const Event& b) {
  return a.kind != EventKind::fence && b.kind != EventKind::fence && a.location == b.location;
}

}  // namespace

void ScOrder::clear() {
  nodes_.clear();
  for (auto& thread : threads_) thread.clear();
  sc_nodes_.clear();
  reaches_.fill(0);
  consistent_ = true;
}

bool ScOrder::happens_before(const Event& a, const Event& b) {
  return b.before[a.thread] >= a.before[a.thread];
}

// Is there an edge of scb from a to b? Only for a executed before b, but for reads-before.
bool ScOrder::scb(const Node& a, const Node& b) const {
  if (same_location(a.event, b.event) && overtakes(a.event, b.event)) return true;
  if (!happens_before(a.event, b.event)) return false;
  if (a.event.thread == b.event.thread) return true;
  if (same_location(a.event, b.event)) return true;
  if (a.next_elsewhere == kNone) return false;
  // The last event before b in its thread, at another location: does a's next such event happen
  // before it?
  const auto& thread = threads_[b.event.thread];
  for (auto at = thread.rbegin(); at != thread.rend(); ++at) {
    const Event& y = nodes_[*at].event;
    if (y.before[y.thread] >= b.event.before[b.event.thread]) continue;
    if (same_location(y, b.event)) continue;
    return y.before[a.event.thread] >= a.next_elsewhere;
  }
  return false;
}

bool ScOrder::add(const Event& event) {
  nodes_.push_back({.event = event});
  const std::size_t added = nodes_.size() - 1;
  Node& node = nodes_.back();
  if (event.seq_cst) {
    MUSTER_ASSERT(sc_nodes_.size() < 64);
    node.self = Set{1} << sc_nodes_.size();
    sc_nodes_.push_back(static_cast<std::uint16_t>(added));
  }
  for (const std::uint16_t sc : sc_nodes_) {
    const Node& other = nodes_[sc];
    if (other.event.kind == EventKind::fence && happens_before(other.event, event)) {
      node.fences |= other.self;
    }
  }
  link_thread(added);
  if (sc_nodes_.empty()) return true;
  for (std::size_t i = 0; i < added; ++i) relate(nodes_[i], node);
  if (event.kind == EventKind::fence && event.seq_cst) close_fence(node);
  return consistent_;
}

void ScOrder::link_thread(std::size_t added) {
  const Event& event = nodes_[added].event;
  auto& thread = threads_[event.thread];
  for (auto at = thread.rbegin(); at != thread.rend(); ++at) {
    Node& earlier = nodes_[*at];
    if (earlier.next_elsewhere != kNone || same_location(earlier.event, event)) break;
    earlier.next_elsewhere = event.before[event.thread];
  }
  thread.push_back(static_cast<std::uint16_t>(added));
}

void ScOrder::relate(Node& older, Node& added) {
  if (scb(older, added)) {
    added.base_in |= older.from();
    add_edges(older.from(), added.self);
  }
  if (!same_location(older.event, added.event)) return;
  if (overtakes(added.event, older.event)) {
    older.base_in |= added.from();
    add_edges(added.from(), older.self | fences_after(older));
  }
  if (eco(older.event, added.event)) added.eco_in |= older.fences;
  if (eco(added.event, older.event)) {
    older.eco_in |= added.fences;
    add_edges(added.fences, fences_after(older));
  }
}

// A new seq_cst fence: whatever reached an event that happens before it now reaches the fence.
void ScOrder::close_fence(Node& fence) {
  for (const Node& node : nodes_) {
    if (&node == &fence || !happens_before(node.event, fence.event)) continue;
    add_edges(node.base_in | node.eco_in, fence.self);
    if (node.event.kind == EventKind::fence) add_edges(node.self, fence.self);
  }
}

ScOrder::Set ScOrder::fences_after(const Node& node) const {
  Set fences = 0;
  for (const std::uint16_t sc : sc_nodes_) {
    const Node& other = nodes_[sc];
    if (other.event.kind == EventKind::fence && happens_before(node.event, other.event)) {
      fences |= other.self;
    }
  }
  return fences;
}

void ScOrder::add_edges(Set from, Set to) {
  Set reached = to;
  for (Set rest = to; rest != 0; rest &= rest - 1) {
    reached |= reaches_[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  if (from == 0 || reached == 0) return;
  if ((from & reached) != 0) consistent_ = false;
  for (std::size_t i = 0; i < sc_nodes_.size(); ++i) {
    const Set bit = Set{1} << i;
    if ((from & bit) != 0 || (reaches_[i] & from) != 0) reaches_[i] |= reached;
  }
}

}  // namespace muster::explore
