// plain.hpp: memory without atomics whose accesses other atomics must put in order.
//
// Plain<T> is a variable, Cell<T> is room for a T that comes and goes. Both cost nothing; in a
// model build every access is checked: two accesses, one of them a write, that no order separates
// are a data race.
//
// Thread safety: none of its own. That is the point: the caller's protocol must provide it.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <muster/sync/atomic.hpp>

namespace muster {

template <class T>
class Plain {
 public:
  Plain() noexcept { note_plain_write(this); }
  ~Plain() { forget_plain(this); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  [[nodiscard]] const T& get() const noexcept {
    note_plain_read(this);
    return value_;
  }
  void set(T value) noexcept {
    note_plain_write(this);
    value_ = std::move(value);
  }

 private:
  T value_{};
};

template <class T>
class Cell {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "an item is moved between the two steps of an operation, where nothing may throw");

 public:
  Cell() noexcept {}               // NOLINT: the union's member starts its life in put()
  ~Cell() { forget_plain(this); }  // NOLINT: take_into() has ended it
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  // Requires: empty.
  void put(T&& item) noexcept {
    note_plain_write(this);
    std::construct_at(&item_, std::move(item));
  }

  // Requires: filled. Leaves the cell empty.
  void take_into(T& out) noexcept {
    static_assert(std::is_nothrow_move_assignable_v<T>,
                  "taking into an object that exists already must not throw; take an optional");
    note_plain_write(this);
    out = std::move(item_);
    std::destroy_at(&item_);
  }
  void take_into(std::optional<T>& out) noexcept {
    note_plain_write(this);
    out.emplace(std::move(item_));
    std::destroy_at(&item_);
  }

 private:
  union {
    T item_;
  };
};

}  // namespace muster
