// join.hpp: two calls that may run at the same time.
//
//     long fib(int n) {
//       if (n < 2) return n;
//       auto [a, b] = muster::join([&] { return fib(n - 1); }, [&] { return fib(n - 2); });
//       return a + b;
//     }
//     long result = pool.run([] { return fib(38); });
//
// Inside a pool (in run(), or in any task) another worker that has nothing to do takes the second
// call; if none does, join costs a few nanoseconds and no atomic read-modify-write. It allocates
// nothing. Outside of pools the calls run one after the other.
//
// Both calls have ended when join returns or throws. If one throws, so does join; if both do, the
// first one's exception is kept.
//
// While a worker waits for a call that another took, it helps with what that call forks, and starts
// nothing else.
//
// Thread safety: from any thread.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <muster/sync/player.hpp>
#include <muster/threads/fork_stack.hpp>

namespace muster {

namespace detail {

// What a call gives; std::monostate for void.
template <class F>
using JoinResult = std::conditional_t<std::is_void_v<std::invoke_result_t<F&>>, std::monostate,
                                      std::invoke_result_t<F&>>;

template <class F>
[[gnu::always_inline]] inline JoinResult<F> call(F& f) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    std::invoke(f);
    return {};
  } else {
    return std::invoke(f);
  }
}

// The second side with room for its result, in case that another worker computes it.
template <class G>
class SecondSide : public Fork {
 public:
  explicit SecondSide(G& g) noexcept : Fork(&run_here), g_(&g) {}
  ~SecondSide() {}  // NOLINT: take_result() ends the result's life

  // Requires: it was run by its taker and did not throw.
  JoinResult<G> take_result() {
    struct Guard {
      JoinResult<G>& result;
      ~Guard() { std::destroy_at(&result); }
    } const guard{result_};
    return std::move(guard.result);
  }

 private:
  static void run_here(Fork& fork) {
    auto& self = static_cast<SecondSide&>(fork);
    std::construct_at(&self.result_, call(*self.g_));
  }

  G* g_;
  union {
    JoinResult<G> result_;
  };
};

// The first call has thrown: sees the second one through and forgets what comes of it.
template <class G>
[[gnu::noinline]] void finish_second(ForkStack& forks, ForkStack::Place place,
                                     SecondSide<G>& second, G& g) noexcept {
  try {
    if (forks.pop(place)) {
      call(g);
    } else {
      forks.wait(second);
      second.take_result();
    }
  } catch (...) {  // NOLINT: the first call's exception is the one that is kept
  }
}

// Calls `one`, and `other` also if that throws; what `other` throws then is forgotten.
template <class One, class Other>
JoinResult<One> call_and_not_alone(One& one, Other& other) {
  try {
    return call(one);
  } catch (...) {
    try {
      call(other);
    } catch (...) {  // NOLINT: the first call's exception is the one that is kept
    }
    throw;
  }
}

// The second call goes first, as if another worker had been quick to take it.
template <class F, class G>
std::pair<JoinResult<F>, JoinResult<G>> join_in_reverse(F& f, G& g) {
  std::exception_ptr error;
  std::optional<JoinResult<G>> b;
  try {
    b.emplace(call(g));
  } catch (...) {
    error = std::current_exception();
  }
  JoinResult<F> a = call(f);  // NOLINT(misc-const-correctness): moved from below
  if (error != nullptr) std::rethrow_exception(error);
  return {std::move(a), std::move(*b)};  // NOLINT(bugprone-unchecked-optional-access): no error
}

// Outside of pools, in a simulation, or when the stack of forks is full.
template <class F, class G>
[[gnu::noinline]] std::pair<JoinResult<F>, JoinResult<G>> join_in_turn(F& f, G& g) {
  if (current_player != nullptr && current_player->flip()) return join_in_reverse(f, g);
  JoinResult<F> a = call_and_not_alone(f, g);  // NOLINT(misc-const-correctness): moved from below
  return {std::move(a), call(g)};
}

}  // namespace detail

// Calls both, perhaps at the same time, and returns a std::pair of what they give: values, not
// references; std::monostate for void.
template <class F, class G>
[[gnu::always_inline]] inline auto join(F&& f, G&& g) {
  using A = detail::JoinResult<F>;
  using B = detail::JoinResult<G>;
  static_assert(!std::is_reference_v<A> && !std::is_reference_v<B>,
                "a call in join gives a value or a pointer, not a reference");
  ForkStack* const forks = current_fork_stack;
  if (forks == nullptr || forks->full()) [[unlikely]]
    return detail::join_in_turn(f, g);

  detail::SecondSide<std::remove_reference_t<G>> second(g);
  const ForkStack::Place place = forks->push(second);
  auto first = [&]() -> A {
    try {
      return detail::call(f);
    } catch (...) {
      detail::finish_second(*forks, place, second, g);
      throw;
    }
  };
  A a = first();  // NOLINT(misc-const-correctness): moved from below, where A can be
  if (forks->pop(place)) [[likely]]
    return std::pair<A, B>(std::move(a), detail::call(g));
  forks->wait(second);
  return std::pair<A, B>(std::move(a), second.take_result());
}

}  // namespace muster
