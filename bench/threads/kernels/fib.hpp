// fib.hpp: Fibonacci numbers by their definition: every call but the smallest forks in two, and
// does nothing else. What remains is the price of a fork and a join.
//
// The number is as large as the time of a sample allows, at most 38; the figure is for one call, so
// a slow contender may work on a smaller one.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace muster::bench {

template <class Pool>
[[gnu::noinline]] std::uint64_t fib(unsigned n) {
  if (n < 2) return n;
  const auto [one, two] =
      Pool::both([n] { return fib<Pool>(n - 1); }, [n] { return fib<Pool>(n - 2); });
  return one + two;
}

class Fib {
 public:
  static constexpr const char* kName = "fib";
  static constexpr const char* kColumn = "fib ns/call";
  static constexpr double kUnitsPerSecond = 1e9;
  static constexpr std::uint64_t kFixedItems = 0;

  // Items are calls.
  explicit Fib(std::uint64_t items) {
    while (number_.n < kLargest && number_.after().calls() <= items) number_ = number_.after();
    repeats_ = 1 + (items - 1) / number_.calls();
    if (number_.n < kLargest) repeats_ = 1;
  }

  template <class Pool>
  void run(Pool& pool) {
    for (std::uint64_t i = 0; i < repeats_; ++i) {
      result_ = pool.run([n = number_.n] { return fib<Pool>(n); });
    }
  }

  void verify() const {
    if (result_ != number_.value) throw std::runtime_error("a fork in fib went wrong");
  }

  [[nodiscard]] std::uint64_t items() const { return repeats_ * number_.calls(); }

 private:
  static constexpr unsigned kLargest = 38;

  struct Number {
    unsigned n;
    std::uint64_t value;
    std::uint64_t next_value;

    [[nodiscard]] Number after() const { return {n + 1, next_value, value + next_value}; }

    // Every call of fib(n) ends in a call that returns 0 or 1, and those are fib(n + 1) in all.
    [[nodiscard]] std::uint64_t calls() const { return 2 * next_value - 1; }
  };

  Number number_{.n = 18, .value = 2584, .next_value = 4181};
  std::uint64_t repeats_ = 1;
  std::uint64_t result_ = 0;
};

}  // namespace muster::bench
