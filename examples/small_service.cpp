// small_service.cpp: a TCP service on a pool, and a load that shows it at work and ends.
//
//     request            reply
//     PING               PONG: a health check, which overtakes whatever waits
//     GET key            the number under that key, or NONE
//     SET key number     OK
//     ADD key number     the sum
//     SLOW               DONE, after a while, as if a disk had been asked
//
// A connection goes from task to task: hear() reads a request, handle() does what it says, answer()
// replies and posts hear() again. It is in one task at a time, so it needs no lock; nor does the
// store, which belongs to a strand. Waiting for a client takes a thread, a spare one; that is
// simple, and good for some dozens of clients.
//
// Beside it: small_service/line_socket.hpp, the sockets; small_service/load.hpp, the clients.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <semaphore>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <muster/blocking.hpp>
#include <muster/strand.hpp>
#include <muster/thread_pool.hpp>

#include "small_service/line_socket.hpp"
#include "small_service/load.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int kHealthCheck = 10;  // the priority of a PING
constexpr unsigned kMaxConnections = 64;

// One client, as the service sees it. Its seat is free again when it ends.
struct Connection {
  Connection(Descriptor descriptor, std::counting_semaphore<>& all_seats)
      : socket(std::move(descriptor)), seats(all_seats) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { seats.release(); }

  LineSocket socket;
  std::counting_semaphore<>& seats;
};
using ConnectionPtr = std::unique_ptr<Connection>;

class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service() { stop(); }  // NOLINT(bugprone-exception-escape): ends the program, as it should

  [[nodiscard]] std::uint16_t port() const { return port_of(listener_); }
  [[nodiscard]] muster::ThreadPoolStats stats() const { return pool_.stats(); }

  // Nobody comes in any more, what was asked is answered, and all are told goodbye.
  void stop() {
    if (!acceptor_.joinable()) return;
    stop_.give();
    acceptor_.join();
    pool_.stop();
  }

 private:
  void accept_all() {
    for (StopSignal::Saw saw{}; saw != StopSignal::Saw::stop;) {
      try {
        saw = stop_.wait(listener_.number(), LineSocket::kPatience);
        if (saw == StopSignal::Saw::input) accept_one();
      } catch (const std::exception& error) {
        std::cerr << "small_service: " << error.what() << "; trying again\n";
        saw = stop_.wait(-1, 100ms);  // too many files are open, perhaps
      }
    }
  }

  void accept_one() {
    const int accepted = accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0 && (errno == EAGAIN || errno == ECONNABORTED)) return;  // it has gone again
    Descriptor client{check(accepted, "accept a connection")};
    if (seats_.try_acquire()) {
      post_hear(std::make_unique<Connection>(std::move(client), seats_));
    } else {
      LineSocket(std::move(client)).write("ERR too many connections\n");
    }
  }

  void post_hear(ConnectionPtr from) {
    pool_.post([this, from = std::move(from)]() mutable { hear(std::move(from)); });
  }

  void hear(ConnectionPtr from) {
    std::string line;
    // However long the client takes, a spare worker does this one's work meanwhile.
    switch (muster::blocking([&] { return from->socket.read(line, stop_); })) {
      case LineSocket::Heard::line: {
        const int priority = line == "PING" ? kHealthCheck : 0;
        pool_.post({.priority = priority}, [this, line, from = std::move(from)]() mutable {
          handle(line, std::move(from));
        });
        break;
      }
      case LineSocket::Heard::too_long:
        from->socket.write("ERR the line is too long\n");
        break;
      case LineSocket::Heard::silence:
        from->socket.write("ERR nothing heard for too long\n");
        break;
      case LineSocket::Heard::stop:
        from->socket.write("BYE\n");
        break;
      case LineSocket::Heard::end:
        break;
    }
  }

  void handle(const std::string& line, ConnectionPtr from) {
    if (line == "PING") return answer("PONG", std::move(from));
    if (line == "SLOW") {
      muster::blocking([] { std::this_thread::sleep_for(5ms); });
      return answer("DONE", std::move(from));
    }
    store_strand_.post(
        [this, line, from = std::move(from)]() mutable { answer(look_up(line), std::move(from)); });
  }

  void answer(const std::string& reply, ConnectionPtr to) {
    if (to->socket.write(reply + '\n') == LineSocket::Told::yes) post_hear(std::move(to));
  }

  // Only in tasks of the strand.
  std::string look_up(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::string key;
    long number = 0;
    words >> verb >> key;
    if (verb == "GET" && !key.empty()) {
      const auto found = store_.find(key);
      return found == store_.end() ? "NONE" : std::to_string(found->second);
    }
    if (verb != "SET" && verb != "ADD") return "ERR unknown request: " + line;
    if (!(words >> number)) return "ERR " + verb + " needs a key and a number";
    if (verb == "ADD") return std::to_string(store_[key] += number);
    store_[key] = number;
    return "OK";
  }

  const Descriptor listener_ = listen_on_loopback();
  StopSignal stop_;
  std::counting_semaphore<> seats_{kMaxConnections};
  std::map<std::string, long> store_;

  // As many spares as connections: if all of them are silent, there still are two workers.
  muster::ThreadPool pool_{{.workers = 2, .max_spare_workers = kMaxConnections}};
  muster::Strand store_strand_{pool_};
  std::thread acceptor_{[this] { accept_all(); }};
};

void print(const Latencies& latencies, const muster::ThreadPoolStats& stats) {
  std::cout << "request    count    p50 us    p99 us\n" << std::fixed << std::setprecision(0);
  for (const auto& [verb, times] : latencies) {
    std::cout << std::left << std::setw(8) << verb << std::right << std::setw(8) << times.size()
              << std::setw(10) << percentile_us(times, 0.5) << std::setw(10)
              << percentile_us(times, 0.99) << '\n';
  }
  std::cout << stats.completed << " tasks, by " << stats.workers.size() - stats.spare_workers
            << " workers and " << stats.spare_workers << " spares for those that waited\n";
}

}  // namespace

int main() {
  try {
    Service service;
    std::list<Client> quiet;  // more than there are workers, and nobody else notices
    for (int i = 0; i < 3; ++i) quiet.emplace_back(service.port());
    const Latencies latencies = run_load(service.port());
    Client(service.port()).ask("GET rounds", std::to_string(kVisitors * kRounds));

    service.stop();
    for (Client& client : quiet) {
      if (client.hear() != "BYE") throw std::runtime_error("stopped without a goodbye");
    }
    const muster::ThreadPoolStats stats = service.stats();
    print(latencies, stats);
    if (stats.completed != stats.submitted) throw std::runtime_error("a task was not run");
    if (latencies.at("ADD").size() != std::size_t{kVisitors} * kRounds ||
        latencies.at("PING").size() != kHealthChecks) {
      throw std::runtime_error("a request was not answered");
    }
  } catch (const std::exception& error) {
    std::cerr << "small_service: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
