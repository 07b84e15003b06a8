// job_event_fuzz.cpp: what is read as an event is an event; what is not is refused by its place.
#include <string>
#include <string_view>

#include <muster/base/assert.hpp>
#include <muster/base/utf8.hpp>

#include "fuzz/fuzz_entries.hpp"
#include "unit/jobs/event_sample.hpp"

namespace muster::fuzz {

void job_event(std::string_view input) {
  try {
    const auto order = decode_event<testing::Order>(input);
    const std::string text = encode_event(order);
    MUSTER_ASSERT(encode_event(decode_event<testing::Order>(text)) == text);
  } catch (const EventError& error) {
    MUSTER_ASSERT(error.path().starts_with("$"));
    MUSTER_ASSERT(is_utf8(error.what()));
  }
}

}  // namespace muster::fuzz
