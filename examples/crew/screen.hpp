// screen.hpp: shows a picture in place while it grows, if there is somebody to watch.
//
// In motion and in colour only on a terminal that is large enough; a file or a pipe gets the
// finished picture and nothing else. NO_COLOR is respected.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "picture.hpp"

class Screen {
 public:
  Screen() {
    winsize window{};
    const char* const terminal = std::getenv("TERM");
    live_ = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col >= Picture::kColumns &&
            window.ws_row > Picture::kRows && terminal != nullptr &&
            std::string_view(terminal) != "dumb";
    if (live_ && std::getenv("NO_COLOR") == nullptr) look_ = Look::coloured;
  }

  [[nodiscard]] bool live() const { return live_; }
  [[nodiscard]] Look look() const { return look_; }

  // Draws the picture over the one before.
  void draw(const Picture& picture) {
    if (live_ && drawn_) std::cout << "\r\x1b[" << Picture::kRows << 'A';
    std::cout << picture.text(look_) << std::flush;
    drawn_ = true;
  }

  // A line that the next one replaces; "" removes it.
  void remark(std::string_view text) {
    if (live_) std::cout << '\r' << text << "\x1b[K" << std::flush;
  }

 private:
  // Fixed at construction.
  bool live_ = false;
  Look look_ = Look::plain;

  bool drawn_ = false;
};
