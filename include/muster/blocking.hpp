// blocking.hpp: a call that waits for something else than work of its pool: a lock, a disk, a
// network.
//
//     std::string page = muster::blocking([&] { return fetch(url); });
//
// In a task, the pool puts a spare worker in the place of this one meanwhile, so as many tasks go
// on running as there are workers; it has up to ThreadPoolOptions::max_spare_workers of them. A
// spare that is no longer needed ends its task first. Elsewhere this is a plain call.
//
// A region costs about as much as locking a mutex, and more if a spare has to be woken for it.
//
// Thread safety: from any thread.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <muster/sync/blocking.hpp>

namespace muster {

// Gives what `f` gives, and throws what it throws.
template <class F>
std::invoke_result_t<F&&> blocking(F&& f) {
  const BlockingRegion region;
  return std::invoke(std::forward<F>(f));
}

}  // namespace muster
