// when.hpp: one future for several.
//
//     auto [page, user] = muster::when_all(fetch_page, fetch_user).get();     // a std::tuple
//     std::vector<int> sums = muster::when_all(std::move(parts)).get();
//     muster::AnyReady<Answer> first = muster::when_any(std::move(replicas)).get();
//     use(first.futures[first.index].get());
//
// The futures that are passed are not valid afterwards: they belong to the new one.
//
// when_all waits for all, whether they fail or not; then get() throws the exception of the first of
// them, in the order they were passed, that has one.
//
// What follows one of these futures, by then(), runs on the pool of the first that was passed.
//
// Thread safety: as Future.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <muster/error.hpp>
#include <muster/future.hpp>

namespace muster {

// What when_any gives: all its futures again, and which of them was ready first.
template <class T>
struct AnyReady {
  std::size_t index = 0;
  std::vector<Future<T>> futures = {};
};

namespace detail {

// A future's value; std::monostate for void.
template <class T>
using ValueOf = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
ValueOf<T> take_value(FutureState<T>& state) {
  if constexpr (std::is_void_v<T>) {
    state.take();
    return {};
  } else {
    return state.take();
  }
}

// A state without a task of its own, settled when `enough` of its inputs are. Each input has a
// reference to it, through its callback, beside that of the Future.
template <class Result>
class Gathering : public FutureState<Result> {
 public:
  Gathering(std::vector<FutureStateBase*> inputs, std::size_t enough)
      : FutureState<Result>(inputs.front()->home(), static_cast<std::uint32_t>(inputs.size()) + 1),
        inputs_(std::move(inputs)),
        needs_some_(enough < inputs_.size()),
        callbacks_(inputs_.size()),
        missing_(enough) {}

  // Call once, before anybody else has the future: the inputs live at least until then.
  void begin() noexcept {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      callbacks_[i].owner = this;
      callbacks_[i].index = i;
      inputs_[i]->add_callback(callbacks_[i]);
    }
  }

  void help() noexcept override {
    for (FutureStateBase* const input : inputs_) input->help();
  }

  void attend(const FutureStateBase& goal, Time deadline) override {
    for (FutureStateBase* const input : inputs_) input->attend(goal, deadline);
  }
  void stir() noexcept override {
    for (FutureStateBase* const input : inputs_) input->stir();
  }

 private:
  struct Input final : FutureCallback {
    Gathering* owner = nullptr;
    std::size_t index = 0;
    void on_settled() noexcept override { owner->arrive(index); }
  };

  // Enough inputs are settled; `last` is the one that was missing.
  virtual Result gather(std::size_t last) = 0;

  void arrive(std::size_t index) noexcept {
    // sync(gathered): pairs with the load below, in whoever comes last.
    const bool last = missing_.fetch_sub(1, release) == 1;
    if (last) (void)missing_.load(acquire);  // sync(gathered): the others' results are visible
    if (last && this->claim()) {
      last_ = index;
      run();
    }
    this->drop_reference();
  }

  void run() noexcept final {
    try {
      this->value_.emplace(gather(last_));
      this->settle();
    } catch (...) {
      this->settle_with(std::current_exception());
    }
    if (needs_some_) stir();
  }
  void drop_task() noexcept final {}

  const std::vector<FutureStateBase*> inputs_;  // alive while somebody can wait for this
  const bool needs_some_;                       // of them, not all
  std::vector<Input> callbacks_;
  std::size_t last_ = 0;

  // Any thread. Below 0, as it were, once more than enough have arrived.
  Atomic<std::size_t> missing_;
};

template <class... T>
class AllOf final : public Gathering<std::tuple<ValueOf<T>...>> {
 public:
  explicit AllOf(FutureRef<FutureState<T>>... states)
      : Gathering<std::tuple<ValueOf<T>...>>({&*states...}, sizeof...(T)),
        states_(std::move(states)...) {}

 private:
  std::tuple<ValueOf<T>...> gather(std::size_t /*last*/) override {
    return std::apply(
        [](auto&... states) { return std::tuple<ValueOf<T>...>{take_value(*states)...}; }, states_);
  }

  std::tuple<FutureRef<FutureState<T>>...> states_;
};

template <class T>
std::vector<FutureStateBase*> pointers_to(const std::vector<FutureRef<FutureState<T>>>& states) {
  std::vector<FutureStateBase*> pointers;
  pointers.reserve(states.size());
  for (const auto& state : states) pointers.push_back(&*state);
  return pointers;
}

template <class T>
std::vector<FutureRef<FutureState<T>>> states_of(std::vector<Future<T>>&& futures) {
  if (futures.empty()) {
    throw InvalidArgument({.field = "futures", .value = "empty", .rule = "must not be empty"});
  }
  std::vector<FutureRef<FutureState<T>>> states;
  states.reserve(futures.size());
  for (Future<T>& future : futures) states.push_back(future.release_state());
  futures.clear();
  return states;
}

template <class T>
class AllInVector final : public Gathering<std::vector<ValueOf<T>>> {
 public:
  explicit AllInVector(std::vector<FutureRef<FutureState<T>>> states)
      : Gathering<std::vector<ValueOf<T>>>(pointers_to(states), states.size()),
        states_(std::move(states)) {}

 private:
  std::vector<ValueOf<T>> gather(std::size_t /*last*/) override {
    std::vector<ValueOf<T>> values;
    values.reserve(states_.size());
    for (auto& state : states_) values.push_back(take_value(*state));
    return values;
  }

  std::vector<FutureRef<FutureState<T>>> states_;
};

template <class T>
class AnyInVector final : public Gathering<AnyReady<T>> {
 public:
  explicit AnyInVector(std::vector<FutureRef<FutureState<T>>> states)
      : Gathering<AnyReady<T>>(pointers_to(states), 1), states_(std::move(states)) {}

 private:
  AnyReady<T> gather(std::size_t first) override {
    AnyReady<T> ready{.index = first};
    for (const auto& state : states_) ready.futures.push_back(Future<T>(state.another()));
    return ready;
  }

  // Kept when the futures are given away: whoever waits for what follows may be helping with them.
  const std::vector<FutureRef<FutureState<T>>> states_;
};

// Starts a Gathering and gives its future.
template <class Result>
Future<Result> begun(Gathering<Result>* gathering) {
  Future<Result> future{FutureRef<FutureState<Result>>(gathering)};
  gathering->begin();
  return future;
}

}  // namespace detail

// A tuple of all results; std::monostate for void.
template <class... T>
  requires(sizeof...(T) > 0)
[[nodiscard]] Future<std::tuple<detail::ValueOf<T>...>> when_all(Future<T>&... futures) {
  return detail::begun<std::tuple<detail::ValueOf<T>...>>(
      new detail::AllOf<T...>(futures.release_state()...));
}

// A vector of all results, in the order of the futures. Throws InvalidArgument if there is none.
template <class T>
[[nodiscard]] Future<std::vector<detail::ValueOf<T>>> when_all(std::vector<Future<T>>&& futures) {
  return detail::begun<std::vector<detail::ValueOf<T>>>(
      new detail::AllInVector<T>(detail::states_of(std::move(futures))));
}
template <class T>
[[nodiscard]] Future<std::vector<detail::ValueOf<T>>> when_all(std::vector<Future<T>>& futures) {
  return when_all(std::move(futures));
}

// Ready as soon as one of them is, with a value or not. Throws InvalidArgument if there is none.
template <class T>
[[nodiscard]] Future<AnyReady<T>> when_any(std::vector<Future<T>>&& futures) {
  return detail::begun<AnyReady<T>>(
      new detail::AnyInVector<T>(detail::states_of(std::move(futures))));
}
template <class T>
[[nodiscard]] Future<AnyReady<T>> when_any(std::vector<Future<T>>& futures) {
  return when_any(std::move(futures));
}

}  // namespace muster
