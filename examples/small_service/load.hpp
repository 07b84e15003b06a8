// load.hpp: clients for the small service, good ones and bad ones, and what they have seen.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "line_socket.hpp"

using Clock = std::chrono::steady_clock;

// From the request to the reply, as the client sees it; by the request's first word.
using Latencies = std::map<std::string, std::vector<Clock::duration>>;

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(connect_to(port)) {}

  // The reply. Throws if there is none.
  std::string ask(const std::string& request) {
    const Clock::time_point start = Clock::now();
    say(request + '\n');
    std::string reply = hear();
    latencies_[request.substr(0, request.find(' '))].push_back(Clock::now() - start);
    return reply;
  }

  // Throws unless the reply is as expected.
  void ask(const std::string& request, const std::string& expected) {
    const std::string reply = ask(request);
    if (reply == expected) return;
    throw std::runtime_error('"' + request + "\" got \"" + reply + "\", not \"" + expected + '"');
  }

  void say(const std::string& text) {
    if (socket_.write(text) == LineSocket::Told::no) throw std::runtime_error("cannot say " + text);
  }

  std::string hear() {
    std::string line;
    if (socket_.read(line, never_) == LineSocket::Heard::line) return line;
    throw std::runtime_error("no answer from the service");
  }

  [[nodiscard]] const Latencies& latencies() const { return latencies_; }

 private:
  LineSocket socket_;
  StopSignal never_;
  Latencies latencies_;
};

constexpr int kVisitors = 4;
constexpr int kRounds = 200;
constexpr int kHealthChecks = 200;

// Has a key of its own, and one that all visitors share.
inline Latencies visit(std::uint16_t port, int visitor) {
  Client client(port);
  const std::string key = "visitor-" + std::to_string(visitor);
  client.ask("GET " + key, "NONE");
  for (int round = 1; round <= kRounds; ++round) {
    client.ask("SET " + key + ' ' + std::to_string(round), "OK");
    client.ask("ADD rounds 1");
    client.ask("GET " + key, std::to_string(round));
    if (round % 10 == 0) client.ask("SLOW", "DONE");
  }
  return client.latencies();
}

inline Latencies check_health(std::uint16_t port) {
  Client client(port);
  for (int i = 0; i < kHealthChecks; ++i) client.ask("PING", "PONG");
  return client.latencies();
}

// None of this may hurt anybody else.
inline void misbehave(std::uint16_t port) {
  Client(port).say("SET half a requ");
  Client(port).say("GET rounds\nGET rounds\n");  // and does not stay for the answers
  Client talkative(port);
  talkative.say(std::string(LineSocket::kLongestLine + 1, 'x'));
  if (talkative.hear() != "ERR the line is too long") throw std::runtime_error("no bound on lines");
  Client confused(port);
  confused.ask("DANCE", "ERR unknown request: DANCE");
  confused.ask("ADD rounds one", "ERR ADD needs a key and a number");
  confused.ask("PING", "PONG");
}

// All of them at the same time; throws what the first of them throws.
inline Latencies run_load(std::uint16_t port) {
  std::vector<std::future<Latencies>> clients;
  clients.push_back(std::async(std::launch::async, check_health, port));
  for (int i = 0; i < kVisitors; ++i) {
    clients.push_back(std::async(std::launch::async, visit, port, i));
  }
  misbehave(port);
  Latencies all;
  for (std::future<Latencies>& client : clients) {
    for (const auto& [verb, times] : client.get()) {
      all[verb].insert(all[verb].end(), times.begin(), times.end());
    }
  }
  return all;
}

// The time that `share` of them did not exceed.
inline double percentile_us(std::vector<Clock::duration> times, double share) {
  std::sort(times.begin(), times.end());
  const auto index = static_cast<std::size_t>(share * static_cast<double>(times.size() - 1));
  return std::chrono::duration<double, std::micro>(times[index]).count();
}
