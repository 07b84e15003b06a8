// handler.hpp: a registered function of any signature, as one from payload to payload.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/byte_reader.hpp>
#include <muster/bytes.hpp>
#include <muster/payload.hpp>
#include <muster/task_context.hpp>

namespace muster::detail {

template <class... Types>
struct TypeList {};

// Arguments: the types of the parameters behind the context.
template <class... Parameters>
struct ParameterTypes {
  static constexpr bool kTakesContext = false;
  using Arguments = TypeList<Parameters...>;
};
template <class... Parameters>
struct ParameterTypes<TaskContext&, Parameters...> {
  static constexpr bool kTakesContext = true;
  using Arguments = TypeList<Parameters...>;
};
template <class... Parameters>
struct ParameterTypes<const TaskContext&, Parameters...>
    : ParameterTypes<TaskContext&, Parameters...> {};

template <class Pointer>
struct PointedSignature {};
template <class R, class... P>
struct PointedSignature<R (*)(P...)> : ParameterTypes<P...> {};
template <class R, class... P>
struct PointedSignature<R (*)(P...) noexcept> : ParameterTypes<P...> {};
template <class R, class C, class... P>
struct PointedSignature<R (C::*)(P...)> : ParameterTypes<P...> {};
template <class R, class C, class... P>
struct PointedSignature<R (C::*)(P...) noexcept> : ParameterTypes<P...> {};
template <class R, class C, class... P>
struct PointedSignature<R (C::*)(P...) const> : ParameterTypes<P...> {};
template <class R, class C, class... P>
struct PointedSignature<R (C::*)(P...) const noexcept> : ParameterTypes<P...> {};

template <class F>
struct Signature {};
template <class F>
  requires std::is_function_v<std::remove_pointer_t<F>>
struct Signature<F> : PointedSignature<F> {};
template <class F>
  requires requires { &F::operator(); }
struct Signature<F> : PointedSignature<decltype(&F::operator())> {};

template <class F>
concept HasSignature = requires { typename Signature<F>::Arguments; };

template <class F>
bool is_empty_function(const F& function) {
  if constexpr (std::is_pointer_v<F>) {
    return function == nullptr;
  } else if constexpr (requires { function.operator bool(); }) {
    return !function;
  } else {
    return false;
  }
}

// Rethrows with the name of the task in front.
[[noreturn]] MUSTER_API void rethrow_within_task(const CodecError& error,
                                                 const TaskContext& context);

class MUSTER_API Handler {
 public:
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler();

  virtual Bytes run(TaskContext& context, const Bytes& payload) = 0;
};

template <class F>
class TypedHandler final : public Handler {
 public:
  explicit TypedHandler(F function) : function_(std::move(function)) {}

  Bytes run(TaskContext& context, const Bytes& payload) override {
    return run_with(context, payload, typename Signature<F>::Arguments());
  }

 private:
  // What a parameter is decoded to. A view needs something to look at.
  template <class P>
  using Held = std::conditional_t<std::is_same_v<std::remove_cvref_t<P>, std::string_view>,
                                  std::string, std::remove_cvref_t<P>>;

  template <class... P>
  Bytes run_with(TaskContext& context, const Bytes& payload, TypeList<P...>) {
    static_assert(
        ((!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>) && ...),
        "muster: a handler takes its arguments by value or by reference to const");
    if constexpr (std::is_same_v<TypeList<std::remove_cvref_t<P>...>, TypeList<Bytes>>) {
      return call(context, payload);
    } else if constexpr (std::is_same_v<TypeList<std::remove_cvref_t<P>...>,
                                        TypeList<std::string_view>>) {
      return call(context, payload.text());
    } else {
      return std::apply(
          [&](Held<P>&&... value) { return call(context, std::forward<Held<P>>(value)...); },
          decode_for<Held<P>...>(context, payload));
    }
  }

  // Apart, so that a CodecError of the handler's own is left alone.
  template <class... Values>
  static std::tuple<Values...> decode_for(const TaskContext& context, const Bytes& payload) {
    try {
      return decode_arguments<Values...>(payload);
    } catch (const CodecError& error) {
      rethrow_within_task(error, context);
    }
  }

  template <class... Values>
  Bytes call([[maybe_unused]] TaskContext& context, Values&&... values) {
    if constexpr (Signature<F>::kTakesContext) {
      return result_of(context, std::forward<Values>(values)...);
    } else {
      return result_of(std::forward<Values>(values)...);
    }
  }

  template <class... Arguments>
  Bytes result_of(Arguments&&... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Arguments...>>) {
      std::invoke(function_, std::forward<Arguments>(arguments)...);
      return {};
    } else {
      return encode_result(std::invoke(function_, std::forward<Arguments>(arguments)...));
    }
  }

  F function_;
};

}  // namespace muster::detail
