// ledger.cpp: the verdict over a sample's items.
#include "ledger.hpp"

#include <stdexcept>
#include <string>

namespace muster::bench {

void Ledger::verify(std::uint64_t expected_checksum) const {
  std::uint64_t checksum = 0;
  for (const Entry& entry : entries_) checksum += entry.checksum;
  if (published_items() == expected_items_ && checksum == expected_checksum) return;
  throw std::runtime_error("items went in and others came out: expected " +
                           std::to_string(expected_items_) + " items with checksum " +
                           std::to_string(expected_checksum) + ", got " +
                           std::to_string(published_items()) + " with " + std::to_string(checksum));
}

}  // namespace muster::bench
