// ping_pong.cpp: the two processes, and how they wait.
#include "processes/ping_pong.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <muster/sync/shared_futex.hpp>

#include "processes/child_process.hpp"

namespace muster::bench {
namespace {

constexpr const char* kSpinPartner = "--spin-partner";
constexpr const char* kFutexPartner = "--futex-partner";
constexpr std::uint32_t kTheEnd = std::numeric_limits<std::uint32_t>::max();

}  // namespace

PingPong::Words* PingPong::map(int file, std::size_t bytes) {
  return static_cast<Words*>(map_file(file, size_for(bytes)));  // zeros are what a new one has
}

void PingPong::say(Wait wait, Atomic<std::uint32_t>& word, std::uint32_t number) {
  word.store(number, release);  // sync(ping-pong): pairs with the load in hear()
  if (wait == Wait::futex) shared_futex_wake(word);
}

std::uint32_t PingPong::hear(Wait wait, Atomic<std::uint32_t>& word, std::uint32_t last) {
  for (;;) {
    const std::uint32_t found =
        word.load(acquire);  // sync(ping-pong): pairs with the store in say()
    if (found != last) return found;
    if (wait == Wait::futex) {
      (void)shared_futex_wait(word, last, kForever);
    } else {
      spin_pause();
    }
  }
}

PingPong::PingPong(Wait wait, std::size_t bytes) : wait_(wait), bytes_(bytes, 'x') {
  const int file = make_file(size_for(bytes));
  words_ = map(file, bytes);
  const char* const role = wait == Wait::spin ? kSpinPartner : kFutexPartner;
  partner_ = start_program(own_path(), {own_path(), role, std::to_string(bytes)}, file);
  close(file);
  expect_first_answer();
}

void PingPong::expect_first_answer() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  say(wait_, words_->ping, ++turn_);
  while (words_->pong.load(relaxed) != turn_) {  // relaxed: nothing else is read
    if (std::chrono::steady_clock::now() > deadline) {
      kill(partner_, SIGKILL);
      throw std::runtime_error("the partner at ping-pong does not answer");
    }
    usleep(100);
  }
}

PingPong::~PingPong() {
  say(wait_, words_->ping, kTheEnd);
  (void)waitpid(partner_, nullptr, 0);
  munmap(words_, size_for(bytes_.size()));
}

void PingPong::round_trip() {
  std::memcpy(words_->to_partner(), bytes_.data(), bytes_.size());
  say(wait_, words_->ping, turn_ + 1);
  turn_ = hear(wait_, words_->pong, turn_);
  std::memcpy(bytes_.data(), words_->from_partner(bytes_.size()), bytes_.size());
}

std::optional<int> run_ping_pong_partner(int argc, char** argv) {
  using Wait = PingPong::Wait;
  const std::string_view role = argc == 3 ? argv[1] : "";
  if (role != kSpinPartner && role != kFutexPartner) return std::nullopt;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Wait wait = role == kSpinPartner ? Wait::spin : Wait::futex;
  const std::size_t bytes = std::stoul(argv[2]);
  PingPong::Words* const words = PingPong::map(kGivenFile, bytes);
  for (std::uint32_t turn = 0;;) {
    turn = PingPong::hear(wait, words->ping, turn);
    if (turn == kTheEnd) return EXIT_SUCCESS;
    std::memcpy(words->from_partner(bytes), words->to_partner(), bytes);
    PingPong::say(wait, words->pong, turn);
  }
}

}  // namespace muster::bench
