// value_of.hpp: calls a function and always gives a value: std::monostate for none.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace muster::bench {

template <class Function>
auto value_of(const Function& function) {
  if constexpr (std::is_void_v<std::invoke_result_t<const Function&>>) {
    function();
    return std::monostate{};
  } else {
    return function();
  }
}

template <class Function>
using Value = decltype(value_of(std::declval<const Function&>()));

}  // namespace muster::bench
