// open_store.hpp: from a URL to a store. The one place that knows which kinds there are.
#pragma once

#include <memory>
#include <string>

#include "jobs/store.hpp"

namespace muster {

// Throws InvalidArgument if the URL is of no known kind, StoreFailure if it cannot be opened.
[[nodiscard]] std::unique_ptr<Store> open_store(const std::string& url);

}  // namespace muster
