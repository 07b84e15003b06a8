// line_splitter.cpp: keeps the beginning of a line until its end comes.
#include <algorithm>

#include <muster/processes/line_splitter.hpp>

namespace muster {

void LineSplitter::feed(std::string_view bytes, const Take& take) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    keep(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    hand_over(take, false);
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::finish(const Take& take) {
  if (!line_.empty()) hand_over(take, true);
}

void LineSplitter::keep(std::string_view piece) {
  const std::size_t kept = std::min(piece.size(), max_line_bytes_ - line_.size());
  line_.append(piece.substr(0, kept));
  cut_bytes_ += piece.size() - kept;
}

void LineSplitter::hand_over(const Take& take, bool is_unfinished) {
  take({.text = line_, .cut_bytes = cut_bytes_, .is_unfinished = is_unfinished});
  line_.clear();
  cut_bytes_ = 0;
}

}  // namespace muster
