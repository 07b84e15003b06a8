// memory.cpp: views and messages.
#include "support/explorer/memory.hpp"

#include <algorithm>

#include <muster/base/assert.hpp>

namespace muster::explore {
namespace {

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

}  // namespace

void View::join(const View& other) {
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = std::max(seen[i], other.seen[i]);
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
}

void Memory::clear() {
  threads_.fill({});
  locations_.clear();
  plain_.clear();
  sc_order_.clear();
  judging_ = true;
}

std::size_t Memory::create(std::size_t thread, std::uint64_t value) {
  MUSTER_ASSERT(locations_.size() < kMaxLocations);
  Location location;
  location.creator = static_cast<std::uint8_t>(thread);
  tick(thread);
  location.created = threads_[thread].now.clock[thread];
  location.messages.push_back({.value = value, .view = {}});
  locations_.push_back(std::move(location));
  return locations_.size() - 1;
}

std::size_t Memory::oldest_readable(const Access& access) const {
  return threads_[access.thread].now.seen[access.location];
}

std::size_t Memory::newest(std::size_t location) const {
  return locations_[location].messages.size() - 1;
}

std::uint64_t Memory::value_at(std::size_t location, std::size_t position) const {
  return locations_[location].messages[position].value;
}

bool Memory::read(const Access& access, std::size_t position) {
  use(access);
  threads_[access.thread].now.seen[access.location] = static_cast<std::uint16_t>(position);
  learn(access, locations_[access.location].messages[position]);
  return record(access, EventKind::read, position);
}

bool Memory::write(const Access& access, std::uint64_t value) {
  use(access);
  append(access, value, nullptr);
  return record(access, EventKind::write, newest(access.location));
}

bool Memory::update(const Access& access, std::uint64_t value) {
  use(access);
  const Message read = locations_[access.location].messages.back();
  learn(access, read);
  append(access, value, &read.view);  // a read-modify-write continues the release sequence
  return record(access, EventKind::write, newest(access.location));
}

bool Memory::fence(std::size_t thread, std::memory_order order) {
  tick(thread);
  Thread& self = threads_[thread];
  if (acquires(order)) self.now.join(self.to_acquire);
  if (releases(order)) self.released = self.now;
  return record({.thread = thread, .location = 0, .order = order}, EventKind::fence, 0);
}

void Memory::start(std::size_t parent, std::size_t child) {
  threads_[child].now = threads_[parent].now;
}

void Memory::join(std::size_t parent, std::size_t child) {
  threads_[parent].now.join(threads_[child].now);
}

bool Memory::plain_write(std::size_t thread, const void* address) {
  tick(thread);
  const Clock& known = threads_[thread].now.clock;
  PlainLocation& location = plain_[address];
  bool ordered = known[location.writer] >= location.written;
  for (std::size_t i = 0; i < kMaxThreads; ++i) ordered = ordered && known[i] >= location.read[i];
  location.writer = static_cast<std::uint8_t>(thread);
  location.written = known[thread];
  return ordered;
}

bool Memory::plain_read(std::size_t thread, const void* address, std::uint16_t at) {
  PlainLocation& location = plain_[address];
  location.read[thread] = std::max(location.read[thread], at);
  return threads_[thread].now.clock[location.writer] >= location.written;
}

void Memory::forget(const void* address) {
  plain_.erase(address);
}

bool Memory::created_before(const Access& access) const {
  const Location& location = locations_[access.location];
  return threads_[access.thread].now.clock[location.creator] >= location.created;
}

bool Memory::end_life(std::size_t thread, std::size_t location) {
  Location& ending = locations_[location];
  ending.ended = true;
  const Clock& known = threads_[thread].now.clock;
  bool ordered = known[ending.creator] >= ending.created;
  for (std::size_t i = 0; i < kMaxThreads; ++i) ordered = ordered && known[i] >= ending.used[i];
  return ordered;
}

std::uint16_t Memory::moment(std::size_t thread) {
  tick(thread);
  return threads_[thread].now.clock[thread];
}

void Memory::tick(std::size_t thread) {
  ++threads_[thread].now.clock[thread];
}

// One event at a location.
void Memory::use(const Access& access) {
  tick(access.thread);
  locations_[access.location].used[access.thread] =
      threads_[access.thread].now.clock[access.thread];
}

bool Memory::record(const Access& access, EventKind kind, std::size_t position) {
  // Whatever thread 0 does is before or after all the others.
  if (access.thread == 0 || !judging_) return true;
  return sc_order_.add({.kind = kind,
                        .seq_cst = access.order == std::memory_order_seq_cst,
                        .thread = static_cast<std::uint8_t>(access.thread),
                        .location = static_cast<std::uint16_t>(access.location),
                        .position = static_cast<std::uint16_t>(position),
                        .before = threads_[access.thread].now.clock});
}

void Memory::learn(const Access& access, const Message& message) {
  Thread& self = threads_[access.thread];
  self.to_acquire.join(message.view);
  if (acquires(access.order)) self.now.join(message.view);
}

void Memory::append(const Access& access, std::uint64_t value, const View* continued) {
  Thread& self = threads_[access.thread];
  std::vector<Message>& messages = locations_[access.location].messages;
  const auto position = static_cast<std::uint16_t>(messages.size());
  self.now.seen[access.location] = position;
  Message message{.value = value, .view = releases(access.order) ? self.now : self.released};
  message.view.seen[access.location] = position;
  if (continued != nullptr) message.view.join(*continued);
  messages.push_back(message);
}

}  // namespace muster::explore
