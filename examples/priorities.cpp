// priorities.cpp: a StableHeap hands out tasks by priority, and equals in the order they came.
//
// The heap has no lock: a worker that keeps one to itself needs none, everybody else guards it.
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>

#include <muster/queues/stable_heap.hpp>

namespace {

using Task = std::function<void()>;

// A task that says its name when it runs.
Task say(std::string name) {
  return [name = std::move(name)] { std::cout << name << '\n'; };
}

}  // namespace

int main() {
  muster::StableHeap<Task> waiting;
  waiting.push(0, say("coil the ropes"));  // 0 is ordinary
  waiting.push(-5, say("polish the bell"));
  waiting.push(0, say("mend the sail"));
  waiting.push(10, say("close the hatch"));
  waiting.push(0, [&waiting] {
    std::cout << "read the sky: a storm\n";
    waiting.push(20, say("take in the sails"));  // overtakes whatever waits
  });
  waiting.push(10, say("man the pumps"));

  // The storm is read in the middle of the ordinary tasks, and changes what comes next.
  while (!waiting.empty()) {
    std::cout << std::setw(3) << waiting.top_priority() << "  ";
    const Task task = waiting.pop();
    task();
  }
}
