// closure.hpp: a callable of any type, to be called once, in 56 bytes.
//
//     Closure closure([file = std::move(file)]() mutable { file.close(); });
//     std::move(closure)();                   // runs it and destroys what it captured
//
// What fits into 48 bytes is stored inside, without an allocation. Together with the eight bytes of
// a queue's slot that makes one cache line. A closure can be marked; most leave eight bytes unused,
// in which a marked one carries a number along, for instance the time.
//
// Thread safety: none; it is passed from thread to thread through queues.
// Lifetime: captures are destroyed right after the call, also if it throws, or with the closure.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <muster/base/assert.hpp>

namespace muster {

class FutureStateBase;

class Closure {
 public:
  static constexpr std::size_t kInlineBytes = 48;

  // What is stored inside.
  template <class Callable>
  static constexpr bool kFits =
      sizeof(Callable) <= kInlineBytes && alignof(Callable) <= alignof(void*) &&
      std::is_nothrow_move_constructible_v<Callable>;

  // Whether a closure can be made of it without anything being thrown.
  template <class F>
  static constexpr bool kNeverThrows =
      kFits<std::decay_t<F>> && std::is_nothrow_constructible_v<std::decay_t<F>, F>;

  Closure() noexcept = default;

  // Throws what copying or moving the callable throws, or std::bad_alloc if it is stored outside.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Closure> &&
             std::is_invocable_v<std::decay_t<F>&>)
  explicit Closure(F&& callable) noexcept(kNeverThrows<F>) {
    using Callable = std::decay_t<F>;
    if constexpr (kFits<Callable>) {
      std::construct_at(reinterpret_cast<Callable*>(storage_), std::forward<F>(callable));
      kind_ = &kInside<Callable>;
    } else {
      auto outside = std::make_unique<Callable>(std::forward<F>(callable));
      std::construct_at(reinterpret_cast<Callable**>(storage_), outside.release());
      kind_ = &kOutside<Callable>;
    }
  }

  Closure(Closure&& other) noexcept { take(other); }
  Closure& operator=(Closure&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Closure() { reset(); }

  // True until it was called or moved from.
  explicit operator bool() const noexcept { return kind_ != nullptr; }

  // Calls the callable and destroys it. Requires: *this.
  void operator()() && {
    MUSTER_DEBUG_ASSERT(kind_ != nullptr);
    take_kind()->run(storage_);
  }

  // Others count on its being called: the type of the callable says so by a member kMustRun.
  [[nodiscard]] bool must_run() const noexcept { return kind_ != nullptr && kind()->must_run; }

  // What the callable settles, if its type says so by a member future_state(); or null.
  [[nodiscard]] FutureStateBase* future_state() const noexcept {
    if (kind_ == nullptr || kind()->future_state == nullptr) return nullptr;
    return kind()->future_state(storage_);
  }

  // The stamp is lost if the callable needs all the room itself. Requires: *this.
  void mark(std::uint64_t stamp) noexcept {
    if (kind()->has_room) std::memcpy(storage_ + kStampOffset, &stamp, sizeof(stamp));
    kind_ = moved_by(kind(), kMark);
  }
  [[nodiscard]] bool is_marked() const noexcept { return marks() != 0; }

  // 0 if there is none.
  [[nodiscard]] std::uint64_t stamp() const noexcept {
    std::uint64_t stamp = 0;
    if (is_marked() && kind()->has_room) {
      std::memcpy(&stamp, storage_ + kStampOffset, sizeof(stamp));
    }
    return stamp;
  }

  // Destroys the callable without calling it.
  void reset() noexcept {
    if (kind_ == nullptr) return;
    const Kind* kind = take_kind();
    if (kind->drop != nullptr) kind->drop(storage_);
  }

 private:
  struct Kind {
    void (*run)(void* storage);                   // and destroy
    void (*drop)(void* storage) noexcept;         // null: nothing to do
    void (*move)(void* from, void* to) noexcept;  // and destroy `from`; null: copy the bytes
    FutureStateBase* (*future_state)(const void* storage) noexcept;  // null: none
    bool must_run;
    bool has_room;  // for a stamp
  };

  static constexpr std::size_t kStampOffset = kInlineBytes - sizeof(std::uint64_t);

  template <class Callable>
  static constexpr bool kLeavesRoom = sizeof(Callable) <= kStampOffset;

  // In the lowest bit of kind_, where its address has none.
  static constexpr std::ptrdiff_t kMark = 1;
  static_assert(alignof(Kind) > kMark);

  [[nodiscard]] std::ptrdiff_t marks() const noexcept {
    return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(kind_) % alignof(Kind));
  }
  [[nodiscard]] const Kind* kind() const noexcept { return moved_by(kind_, -marks()); }
  static const Kind* moved_by(const Kind* kind, std::ptrdiff_t bytes) noexcept {
    return reinterpret_cast<const Kind*>(reinterpret_cast<const std::byte*>(kind) + bytes);
  }
  const Kind* take_kind() noexcept {
    const Kind* const taken = kind();
    kind_ = nullptr;
    return taken;
  }

  template <class Callable>
  static constexpr bool kMustRun = requires { Callable::kMustRun; };

  template <class Callable>
  static FutureStateBase* future_state_of(const void* storage) noexcept {
    return static_cast<const Callable*>(storage)->future_state();
  }
  template <class Callable>
  static constexpr auto find_future_state() noexcept -> FutureStateBase* (*)(const void*) noexcept {
    if constexpr (requires(const Callable& callable) {
                    { callable.future_state() } -> std::same_as<FutureStateBase*>;
                  }) {
      return &future_state_of<Callable>;
    } else {
      return nullptr;
    }
  }

  // Destroys at the end of the scope, however it is left.
  template <class Callable>
  struct Destroyed {
    Callable& callable;
    ~Destroyed() { std::destroy_at(&callable); }
  };

  template <class Callable>
  static Callable& inside(void* storage) noexcept {
    return *static_cast<Callable*>(storage);
  }
  template <class Callable>
  static std::unique_ptr<Callable> owned(void* storage) noexcept {
    return std::unique_ptr<Callable>(*static_cast<Callable**>(storage));
  }

  template <class Callable>
  static constexpr Kind kInside = {
      .run =
          [](void* storage) {
            const Destroyed<Callable> guard{inside<Callable>(storage)};
            std::invoke(guard.callable);
          },
      .drop = std::is_trivially_destructible_v<Callable>
                  ? nullptr
                  : +[](void* storage) noexcept { std::destroy_at(&inside<Callable>(storage)); },
      .move = std::is_trivially_copyable_v<Callable>
                  ? nullptr
                  : +[](void* from, void* to) noexcept {
                      const Destroyed<Callable> guard{inside<Callable>(from)};
                      std::construct_at(static_cast<Callable*>(to), std::move(guard.callable));
                    },
      .future_state = find_future_state<Callable>(),
      .must_run = kMustRun<Callable>,
      .has_room = kLeavesRoom<Callable>};

  template <class Callable>
  static constexpr Kind kOutside = {
      .run = [](void* storage) { std::invoke(*owned<Callable>(storage)); },
      .drop = [](void* storage) noexcept { owned<Callable>(storage).reset(); },
      .move = nullptr,
      .future_state = nullptr,
      .must_run = kMustRun<Callable>,
      .has_room = true};

  // Requires: this is empty.
  void take(Closure& other) noexcept {
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_ == nullptr) return;
    if (kind()->move == nullptr) {
      std::memcpy(storage_, other.storage_, kInlineBytes);
      return;
    }
    kind()->move(other.storage_, storage_);
    if (is_marked() && kind()->has_room) {
      std::memcpy(storage_ + kStampOffset, other.storage_ + kStampOffset, sizeof(std::uint64_t));
    }
  }

  const Kind* kind_ = nullptr;  // and a mark
  alignas(void*) std::byte storage_[kInlineBytes];
};

static_assert(sizeof(Closure) == 56, "with a slot's turn it fills one cache line");

}  // namespace muster
