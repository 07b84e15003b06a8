// ping_pong.hpp: a yardstick. Two processes and two words of memory that they share: one writes its
// word, the other sees it and writes its own.
//
// No round trip between two processes can be shorter than that of `spin`, and none in which both
// sleep shorter than that of `futex`. With bytes, as many are copied to the partner, there, and
// back, as an echo is.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster::bench {

class PingPong {
 public:
  enum class Wait { spin, futex };

  // Starts the partner: this program again. Throws std::runtime_error if it cannot, or if the
  // partner does not answer.
  explicit PingPong(Wait wait, std::size_t bytes = 0);

  // The partner ends, and is waited for.
  ~PingPong();
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;

  void round_trip();

 private:
  struct Words {
    alignas(kCacheLine) Atomic<std::uint32_t> ping = 0;
    alignas(kCacheLine) Atomic<std::uint32_t> pong = 0;

    // Behind them.
    [[nodiscard]] char* to_partner() noexcept { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] char* from_partner(std::size_t bytes) noexcept { return to_partner() + bytes; }
  };
  friend std::optional<int> run_ping_pong_partner(int argc, char** argv);

  static std::size_t size_for(std::size_t bytes) { return sizeof(Words) + 2 * bytes; }
  static Words* map(int file, std::size_t bytes);
  static void say(Wait wait, Atomic<std::uint32_t>& word, std::uint32_t number);
  static std::uint32_t hear(Wait wait, Atomic<std::uint32_t>& word, std::uint32_t last);
  void expect_first_answer();

  // Fixed at construction.
  const Wait wait_;
  std::vector<char> bytes_;
  Words* words_ = nullptr;
  pid_t partner_ = -1;

  std::uint32_t turn_ = 0;
};

// Early in main(): if the command line says that this is a partner, is one and returns the exit
// code.
std::optional<int> run_ping_pong_partner(int argc, char** argv);

}  // namespace muster::bench
