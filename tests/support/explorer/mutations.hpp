// mutations.hpp: explores scenarios of one structure, then every weakening of its source, which
// must be noticed.
//
// The places to weaken are not listed by hand: they are the accesses that the scenarios made, by
// line. So an order that is added to the source is tested from that moment on, and an order that is
// not needed shows up.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/explorer/explorer.hpp"

namespace muster::explore {

struct Scenario {
  std::string name;
  std::function<void(Program&)> setup;
  Limits limits = {};
};

// A weakening that no scenario notices, and why it is right all the same.
struct Accepted {
  std::string code;  // part of the source line
  Weakening weakening;
  std::string reason;
};

// Both print what they explored, and fail the current GoogleTest test where something is not as it
// should be.

// No scenario fails, and each is explored to the end within its limits.
void expect_all_hold(const std::vector<Scenario>& scenarios);

// Weakening any access made in `file` (base name) fails at least one scenario, but for what is
// accepted.
void expect_weakenings_caught(const std::vector<Scenario>& scenarios, const std::string& file,
                              const std::vector<Accepted>& accepted = {});

}  // namespace muster::explore
