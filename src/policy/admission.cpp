// admission.cpp: which options make sense, and where the watermarks lie.
#include <algorithm>
#include <cmath>
#include <string>

#include <muster/policy/admission.hpp>

#include "option_text.hpp"

namespace muster {
namespace {

// A double counts exactly up to 2^53; the watermarks are computed as such.
constexpr std::size_t kMostQueued = std::size_t{1} << 40;

}  // namespace

std::string_view to_string(WhenFull when_full) {
  switch (when_full) {
    case WhenFull::block:
      return "block";
    case WhenFull::reject:
      return "reject";
    case WhenFull::drop_oldest:
      return "drop_oldest";
    case WhenFull::drop_newest:
      return "drop_newest";
    case WhenFull::caller_runs:
      return "caller_runs";
  }
  return "unknown";
}

std::vector<BadField> validate(const AdmissionOptions& options) {
  std::vector<BadField> bad;
  if (options.max_queued < 1 || options.max_queued > kMostQueued) {
    bad.push_back({.field = "max_queued",
                   .value = std::to_string(options.max_queued),
                   .rule = "must be from 1 to " + std::to_string(kMostQueued)});
  }
  if (options.max_queued_per_key > options.max_queued) {
    bad.push_back({.field = "max_queued_per_key",
                   .value = std::to_string(options.max_queued_per_key),
                   .rule = "must be at most max_queued, " + std::to_string(options.max_queued)});
  }
  if (options.block_timeout && *options.block_timeout <= Duration::zero()) {
    bad.push_back({.field = "block_timeout",
                   .value = option_text(*options.block_timeout),
                   .rule = "must be more than 0"});
  }
  if (options.block_timeout && options.when_full != WhenFull::block) {
    bad.push_back({.field = "block_timeout",
                   .value = option_text(*options.block_timeout),
                   .rule = "must be unset if when_full is " +
                           std::string(to_string(options.when_full)) + ": nobody waits"});
  }
  // Written so that a NaN fails.
  if (!(options.high_watermark > 0 && options.high_watermark <= 1)) {
    bad.push_back({.field = "high_watermark",
                   .value = option_text(options.high_watermark),
                   .rule = "must be more than 0, and 1 at most"});
  }
  if (!(options.low_watermark >= 0 && options.low_watermark < options.high_watermark)) {
    bad.push_back({.field = "low_watermark",
                   .value = option_text(options.low_watermark),
                   .rule = "must be 0 or more, and less than high_watermark, " +
                           option_text(options.high_watermark)});
  }
  return bad;
}

Watermarks::Watermarks(const AdmissionOptions& options) {
  const auto most = static_cast<double>(options.max_queued);
  high_ = static_cast<std::size_t>(std::max(1.0, std::ceil(options.high_watermark * most)));
  low_ = static_cast<std::size_t>(std::floor(options.low_watermark * most));
  low_ = std::min(low_, high_ - 1);
}

}  // namespace muster
