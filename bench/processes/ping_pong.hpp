// ping_pong.hpp: a yardstick. Two processes and two words of memory that they share: one writes its
// word, the other sees it and writes its own.
//
// No round trip between two processes can be shorter than that of `spin`, and none in which both
// sleep shorter than that of `futex`.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster::bench {

class PingPong {
 public:
  enum class Wait { spin, futex };

  // Starts the partner: this program again. Throws std::runtime_error if it cannot, or if the
  // partner does not answer.
  explicit PingPong(Wait wait);

  // The partner ends, and is waited for.
  ~PingPong();
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;

  void round_trip();

 private:
  struct Words {
    alignas(kCacheLine) Atomic<std::uint32_t> ping = 0;
    alignas(kCacheLine) Atomic<std::uint32_t> pong = 0;
  };
  friend std::optional<int> run_ping_pong_partner(int argc, char** argv);

  static Words* map(int file);
  static void say(Wait wait, Atomic<std::uint32_t>& word, std::uint32_t number);
  static std::uint32_t hear(Wait wait, Atomic<std::uint32_t>& word, std::uint32_t last);
  void expect_first_answer();

  // Fixed at construction.
  const Wait wait_;
  Words* words_ = nullptr;
  pid_t partner_ = -1;

  std::uint32_t turn_ = 0;
};

// Early in main(): if the command line says that this is a partner, is one and returns the exit
// code.
std::optional<int> run_ping_pong_partner(int argc, char** argv);

}  // namespace muster::bench
