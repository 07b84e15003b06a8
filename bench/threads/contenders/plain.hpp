// plain.hpp: no pool at all, everything at once and by the calling thread. The yardstick: what the
// work itself costs.
#pragma once

#include <cstddef>
#include <utility>

#include "threads/value_of.hpp"

namespace muster::bench {

class Plain {
 public:
  static constexpr const char* kName = "plain";

  explicit Plain(unsigned /*workers*/) {}

  template <class Task>
  void post(const Task& task) {
    task();
  }

  template <class Work>
  auto run(const Work& work) {
    return value_of(work);
  }

  template <class First, class Second>
  static auto both(const First& first, const Second& second) {
    auto one = value_of(first);
    return std::pair(std::move(one), value_of(second));
  }

  template <class Body>
  static void each_child(std::size_t count, const Body& body) {
    for (std::size_t child = 0; child < count; ++child) body(child);
  }

  template <class Body>
  void for_each_index(std::size_t count, const Body& body) {
    each_child(count, body);
  }
};

}  // namespace muster::bench
