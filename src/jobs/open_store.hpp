// open_store.hpp: from a URL to a store. The one place that knows which kinds there are.
#pragma once

#include <memory>
#include <string>

#include "jobs/store.hpp"

namespace muster {

// Of a store that several processes share.
struct SharingOptions {
  Duration lease = std::chrono::seconds(15);
  Duration timeout = std::chrono::seconds(10);
  Clock* clock = nullptr;  // null: the real one
};

// Throws InvalidArgument if the URL is of no known kind, StoreFailure if it cannot be opened.
[[nodiscard]] std::unique_ptr<Store> open_store(const std::string& url,
                                                const SharingOptions& sharing);

}  // namespace muster
