// line_splitter.hpp: cuts a stream of bytes into lines, of which none is longer than a bound.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <muster/base/api.hpp>

namespace muster {

// Valid during the call that it is handed to.
struct SplitLine {
  std::string_view text;       // without the line's end
  std::size_t cut_bytes = 0;   // that the line had beyond the bound
  bool is_unfinished = false;  // the stream ended before the line did
};

class MUSTER_API LineSplitter {
 public:
  using Take = std::function<void(const SplitLine&)>;

  // Requires: at least 1.
  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // Hands over each line that ends within `bytes`, and keeps the rest, up to the bound.
  void feed(std::string_view bytes, const Take& take);

  // The stream has ended. Hands over what is left, if anything is.
  void finish(const Take& take);

 private:
  void keep(std::string_view piece);
  void hand_over(const Take& take, bool is_unfinished);

  // Fixed at construction.
  const std::size_t max_line_bytes_;

  std::string line_;
  std::size_t cut_bytes_ = 0;
};

}  // namespace muster
