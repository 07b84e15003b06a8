// passing_messages.cpp: one thread sends messages to another through a bounded queue.
//
// The queue itself never waits: it answers "full" or "empty", and its user decides what to do then.
// Here both sides let other threads run and try again, which suits short waits. Whoever may have to
// wait for long sleeps in a ParkingLot instead: crew.cpp shows how.
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include <muster/queues/bounded_queue.hpp>

int main() {  // NOLINT(bugprone-exception-escape): out of memory may end an example
  muster::BoundedQueue<std::string> queue(2);  // room for two messages

  const std::jthread sender([&queue] {
    for (const char* message : {"all", "hands", "on", "deck"}) {
      while (!queue.try_push(message)) std::this_thread::yield();  // full: let the receiver run
    }
  });

  for (int received = 0; received < 4; ++received) {
    std::optional<std::string> message;
    while (!(message = queue.try_pop())) std::this_thread::yield();  // empty: let the sender run
    std::cout << "received: " << *message << '\n';
  }
}
