// sessions.cpp: the table of sessions, found by key and sorted by use.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <muster/error.hpp>
#include <muster/policy/sessions.hpp>

namespace muster {

Sessions::Sessions(const AffinityOptions& options) : options_(options) {
  if (std::vector<BadField> bad = validate(options); !bad.empty()) {
    throw InvalidArgument(std::move(bad));
  }
}

std::optional<std::size_t> Sessions::find(std::uint64_t key_hash, Time now) {
  const auto found = by_key_.find(key_hash);
  if (found == by_key_.end() || has_run_out(*found->second, now)) {
    ++counts_.misses;
    return {};
  }
  ++counts_.hits;
  use(found->second, now);
  return found->second->worker;
}

void Sessions::assign(std::uint64_t key_hash, std::size_t worker, Time now) {
  if (const auto found = by_key_.find(key_hash); found != by_key_.end()) {
    Session& session = *found->second;
    if (session.worker != worker && !has_run_out(session, now)) ++counts_.moves;
    session.worker = worker;
    use(found->second, now);
    return;
  }
  if (by_use_.size() >= options_.max_sessions) end(std::prev(by_use_.end()));
  by_use_.push_front({.key_hash = key_hash, .worker = worker, .last_used = now});
  by_key_.emplace(key_hash, by_use_.begin());
}

std::size_t Sessions::forget(std::size_t worker, Time now) {
  (void)size(now);  // those that ran out are nobody's any more
  std::size_t ended = 0;
  for (auto session = by_use_.begin(); session != by_use_.end();) {
    const auto next = std::next(session);
    if (session->worker == worker) {
      end(session);
      ++ended;
    }
    session = next;
  }
  counts_.moves += ended;
  return ended;
}

std::size_t Sessions::size(Time now) {
  while (!by_use_.empty() && has_run_out(by_use_.back(), now)) end(std::prev(by_use_.end()));
  return by_use_.size();
}

bool Sessions::has_run_out(const Session& session, Time now) const {
  return now - session.last_used >= options_.session_ttl;
}

// Threads that read the clock before they got here may come with times a little out of order.
void Sessions::use(ByUse::iterator session, Time now) {
  session->last_used = std::max(session->last_used, now);
  by_use_.splice(by_use_.begin(), by_use_, session);
}

void Sessions::end(ByUse::iterator session) {
  by_key_.erase(session->key_hash);
  by_use_.erase(session);
}

}  // namespace muster
