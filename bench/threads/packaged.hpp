// packaged.hpp: a task with a std::future, for pools that take copyable functions without a result.
#pragma once

#include <future>
#include <memory>
#include <type_traits>
#include <utility>

namespace muster::bench {

template <class Result>
struct Packaged {
  std::shared_ptr<std::packaged_task<Result()>> task;

  void operator()() const { (*task)(); }
};

template <class Function>
auto package(Function function) {
  using Result = std::invoke_result_t<Function&>;
  return Packaged<Result>{std::make_shared<std::packaged_task<Result()>>(std::move(function))};
}

// Through such a pool's post.
template <class Pool, class Function>
auto submit_packaged(Pool& pool, Function function) {
  auto packaged = package(std::move(function));
  auto future = packaged.task->get_future();
  pool.post(std::move(packaged));
  return future;
}

}  // namespace muster::bench
