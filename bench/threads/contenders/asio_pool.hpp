// asio_pool.hpp: boost::asio::thread_pool with boost::asio::post, and use_future for results, as
// its manual shows them.
#pragma once

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

namespace muster::bench {

class AsioPool {
 public:
  static constexpr const char* kName = "asio";

  explicit AsioPool(unsigned workers) : pool_(workers) {}

  template <class Task>
  void post(Task task) {
    boost::asio::post(pool_, std::move(task));
  }

  template <class Task>
  auto submit(Task task) {
    return boost::asio::post(pool_, boost::asio::use_future(std::move(task)));
  }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace muster::bench
