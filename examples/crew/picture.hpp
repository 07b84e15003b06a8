// picture.hpp: the Mandelbrot set as text; the crew paints it.
//
// A character stands for the mean of size x size points. A point costs from 1 to kMaxSteps steps,
// so nobody knows beforehand how much work a part of the picture is.
//
// Thread safety: any threads may paint, each character once, while others look at the picture.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

enum class Look { plain, coloured };

constexpr int kNobody = -1;

// `text` in the colour of a painter.
inline std::string in_colour(int painter, Look look, const std::string& text) {
  constexpr std::string_view kCodes[] = {"36", "33", "35", "32", "94", "31"};
  if (look == Look::plain || painter == kNobody) return text;
  const std::size_t code = static_cast<std::size_t>(painter) % std::size(kCodes);
  return "\x1b[" + std::string(kCodes[code]) + "m" + text + "\x1b[0m";
}

class Picture {
 public:
  static constexpr unsigned kColumns = 72;
  static constexpr unsigned kRows = 21;  // odd: the real axis has a row of its own
  static constexpr unsigned kCharacters = kColumns * kRows;

  explicit Picture(unsigned size) : size_(size), characters_(kCharacters) {}

  // Characters are numbered down the columns.
  void paint(unsigned index, int painter) {
    characters_[index].steps = steps_of(index);
    characters_[index].painter = painter;
  }

  [[nodiscard]] unsigned painted_percent() const {
    const auto is_painted = [](const Character& c) { return c.painter != kNobody; };
    const auto painted = std::ranges::count_if(characters_, is_painted);
    return static_cast<unsigned>(painted) * 100 / kCharacters;
  }

  // FNV-1a over the steps: a single wrong character changes it.
  [[nodiscard]] std::uint32_t checksum() const {
    std::uint32_t sum = 2166136261;
    for (const Character& character : characters_) sum = (sum ^ character.steps) * 16777619;
    return sum;
  }

  // One line for each row; what is not painted yet is blank.
  [[nodiscard]] std::string text(Look look) const {
    std::string text;
    for (unsigned row = 0; row < kRows; ++row) {
      std::string stretch;  // of one painter
      int painter = kNobody;
      for (unsigned column = 0; column < kColumns; ++column) {
        const Character& character = characters_[column * kRows + row];
        const int next = character.painter;
        if (next != painter) {
          text += in_colour(painter, look, stretch);
          stretch.clear();
          painter = next;
        }
        stretch += next == kNobody ? ' ' : shade(character.steps);
      }
      text += in_colour(painter, look, stretch) + '\n';
    }
    return text;
  }

 private:
  static constexpr unsigned kMaxSteps = 1000;

  struct Character {
    std::atomic<std::uint32_t> steps = 0;
    std::atomic<int> painter = kNobody;  // written last: the steps are there once it is known
  };

  // All points of a character together. Never inlined: one compiled copy rounds alike for everyone.
  [[nodiscard, gnu::noinline]] std::uint32_t steps_of(unsigned index) const {
    constexpr double kWidth = 0.054;  // of a character, which is twice as high
    const unsigned column = index / kRows;
    const unsigned row = index % kRows;
    const double left = -0.65 + kWidth * (column - kColumns / 2.0);
    const double top = 2 * kWidth * (row - kRows / 2.0);
    std::uint32_t steps = 0;
    for (unsigned point = 0; point < size_ * size_; ++point) {
      const unsigned down = point / size_;
      const unsigned across = point % size_;
      const double a = left + kWidth * (across + 0.5) / size_;
      const double b = top + 2 * kWidth * (down + 0.5) / size_;
      double x = 0;
      double y = 0;
      for (unsigned n = 0; n < kMaxSteps && x * x + y * y < 4; ++n, ++steps) {
        const double next = x * x - y * y + a;
        y = 2 * x * y + b;
        x = next;
      }
    }
    return steps;
  }

  // From few steps to many, on a logarithmic scale: the outskirts would look all alike otherwise.
  [[nodiscard]] char shade(std::uint32_t steps) const {
    constexpr std::string_view kShades = " .,:;-=+*o%#@";
    const double mean = steps / (1.0 * size_ * size_);
    const double share = std::log(mean) / std::log(1.0 * kMaxSteps);  // 0 to 1
    return kShades[static_cast<std::size_t>(share * static_cast<double>(kShades.size() - 1))];
  }

  // Fixed at construction.
  const unsigned size_;

  // Any thread.
  std::vector<Character> characters_;
};
