// player.cpp: the player of each thread.
#include <string>

#include <muster/error.hpp>
#include <muster/sync/player.hpp>

namespace muster {

Player::~Player() = default;

void Player::refuse_to_wait(const char* wait) {
  throw WouldDeadlock(std::string(wait) + ": nothing is left to run that could end it");
}

constinit thread_local Player* current_player = nullptr;

Time current_time() {
  return current_player != nullptr ? current_player->now() : real_clock().now();
}

}  // namespace muster
