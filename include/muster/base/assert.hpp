// assert.hpp: invariants that are checked in every build, and say what they saw when they break.
//
//     MUSTER_ASSERT(bottom >= top);
//     MUSTER_ASSERT(bottom >= top, "after worker", id, "popped");
//
// A false condition prints the place, the expression, the values on both sides of its comparison
// and the extra arguments, then aborts:
//
//     deque.cpp:42: void f(): assertion failed: bottom >= top  (3 >= 5) after worker 7 popped
//
// The condition is evaluated once, the extra arguments only on failure. A condition with a comma,
// `&`, `|`, `^` or `<=>` outside parentheses needs parentheses around it. Values print with
// operator<<, enums without one as their number, pointers in hexadecimal, anything else as "?".
//
// MUSTER_DEBUG_ASSERT is the same for hot paths: with NDEBUG it compiles, but is never evaluated.
//
// Design: the cost of a true condition is one compare and one branch. To keep it so, small operands
// travel to the cold functions by value: a variable whose address escapes would leave its register.
#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <source_location>
#include <type_traits>

#include <muster/base/api.hpp>

// `condition` stands without parentheses on purpose: <=> binds tighter than the comparisons, so
// that `a < b` becomes `(Decompose{} <=> a) < b`, which remembers both sides.
#define MUSTER_DETAIL_ASSERT(text, condition, ...)                                             \
  static_cast<void>(::muster::detail::holds(::muster::detail::Decompose{} <=> condition, text, \
                                            ::std::source_location::current()) ||              \
                    ::muster::detail::fail(__VA_ARGS__))

#define MUSTER_ASSERT(condition, ...) \
  MUSTER_DETAIL_ASSERT(#condition, condition __VA_OPT__(, ) __VA_ARGS__)

#ifdef NDEBUG
#define MUSTER_DEBUG_ASSERT(condition, ...) \
  (true ? static_cast<void>(0)              \
        : MUSTER_DETAIL_ASSERT(#condition, condition __VA_OPT__(, ) __VA_ARGS__))
#else
#define MUSTER_DEBUG_ASSERT(condition, ...) \
  MUSTER_DETAIL_ASSERT(#condition, condition __VA_OPT__(, ) __VA_ARGS__)
#endif

namespace muster::detail {

// A report is built in a buffer of this thread: begun by explain(), ended by finish_report().
MUSTER_API std::ostream& begin_report(const char* expression,
                                      std::source_location location) noexcept;
MUSTER_API std::ostream& continue_report() noexcept;
[[noreturn]] MUSTER_API void finish_report() noexcept;

MUSTER_API void print_pointer(std::ostream& out, std::uintptr_t address);

template <class T>
void print_value(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>) {
    out << static_cast<int>(value);  // std::int8_t and std::uint8_t are numbers here
  } else if constexpr (std::is_null_pointer_v<T>) {
    out << "nullptr";
  } else if constexpr (std::is_pointer_v<T>) {
    if constexpr (std::is_convertible_v<T, const char*>) {
      out << (value ? value : "nullptr");
    } else {
      print_pointer(out, reinterpret_cast<std::uintptr_t>(value));
    }
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (std::is_enum_v<T>) {
    print_value(out, static_cast<std::underlying_type_t<T>>(value));
  } else {
    out << '?';
  }
}

template <class T>
inline constexpr bool kHeldByValue =
    !std::is_array_v<T> && std::is_trivially_copy_constructible_v<T> &&
    sizeof(T) <= 2 * sizeof(void*);  // NOLINT(bugprone-sizeof-expression): T may be a pointer

template <class T>
using Held = std::conditional_t<kHeldByValue<T>, std::remove_cv_t<T>, const T&>;

template <class L, class R>
struct Comparison {
  bool holds;
  Held<L> left;
  const char* sign;
  Held<R> right;

  constexpr explicit operator bool() const { return holds; }
};

// `size == 0` is fine with an unsigned size, but here the literal is an int like any other.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"

// The left side of a comparison, or a whole condition without one.
template <class L>
struct Operand {
  Held<L> value;

  constexpr explicit operator bool() const { return static_cast<bool>(value); }

#define MUSTER_DETAIL_COMPARE(sign)                                    \
  template <class R>                                                   \
  constexpr Comparison<L, R> operator sign(const R & right) const {    \
    return {static_cast<bool>(value sign right), value, #sign, right}; \
  }
  MUSTER_DETAIL_COMPARE(==)
  MUSTER_DETAIL_COMPARE(!=)
  MUSTER_DETAIL_COMPARE(<)
  MUSTER_DETAIL_COMPARE(<=)
  MUSTER_DETAIL_COMPARE(>)
  MUSTER_DETAIL_COMPARE(>=)
#undef MUSTER_DETAIL_COMPARE
};

#pragma GCC diagnostic pop

struct Decompose {
  template <class T>
  constexpr Operand<T> operator<=>(const T& value) const {
    return {value};
  }
};

template <class L, class R>
[[gnu::cold, gnu::noinline]] void explain(const char* expression, std::source_location location,
                                          Held<L> left, const char* sign, Held<R> right) noexcept {
  std::ostream& out = begin_report(expression, location);
  out << "  (";
  print_value(out, left);
  out << ' ' << sign << ' ';
  print_value(out, right);
  out << ')';
}

template <class T>
[[gnu::cold, gnu::noinline]] void explain(const char* expression, std::source_location location,
                                          Held<T> value) noexcept {
  std::ostream& out = begin_report(expression, location);
  out << "  (";
  print_value(out, value);
  out << ')';
}

template <class T>
[[gnu::cold, gnu::noinline]] void note(Held<T> value) noexcept {
  std::ostream& out = continue_report();
  out << ' ';
  print_value(out, value);
}

template <class L, class R>
[[gnu::always_inline]] constexpr bool holds(const Comparison<L, R>& result, const char* expression,
                                            std::source_location location) {
  if (result.holds) [[likely]] {
    return true;
  }
  explain<L, R>(expression, location, result.left, result.sign, result.right);
  return false;
}

template <class T>
[[gnu::always_inline]] constexpr bool holds(const Operand<T>& result, const char* expression,
                                            std::source_location location) {
  if (static_cast<bool>(result)) [[likely]] {
    return true;
  }
  explain<T>(expression, location, result.value);
  return false;
}

// What is left of a condition joined by && or ||: nothing but its result.
[[gnu::always_inline]] constexpr bool holds(bool result, const char* expression,
                                            std::source_location location) {
  if (result) [[likely]] {
    return true;
  }
  begin_report(expression, location);
  return false;
}

template <class... Notes>
[[noreturn, gnu::always_inline]] inline bool fail(const Notes&... notes) {
  (note<Notes>(notes), ...);
  finish_report();
}

}  // namespace muster::detail
