// crew.cpp: a crew of worker threads paints the Mandelbrot set, and shows who did how much.
//
//     ./dev run            or: crew [--workers N] [--size N] [--quick]
//
// This is the inside of a thread pool, built from muster's parts. A task is a strip of the picture.
// Its worker cuts it in two, again and again, until one character is left to paint, and keeps the
// other halves in its deque. Each worker is sent a band of the same width, but not of the same
// work: a point inside the set costs a thousand steps, most others a few. So some soon run out.
// Then they steal from the others, and when nobody has anything to spare, they sleep.
//
// On a terminal each worker has a colour, so that you see where it painted what it stole.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/base/cpu_topology.hpp>
#include <muster/error.hpp>
#include <muster/queues/inbox.hpp>
#include <muster/queues/work_stealing_deque.hpp>
#include <muster/sync/parking_lot.hpp>

#include "crew/options.hpp"
#include "crew/picture.hpp"
#include "crew/report.hpp"
#include "crew/screen.hpp"

namespace {

// A task: the characters from `begin` up to, not including, `end`. Its eight bytes fit a cell of a
// deque, so tasks need no memory of their own.
struct Strip {
  unsigned begin = 0;
  unsigned end = 0;
};

// A task from outside. An inbox allocates nothing: what it holds brings the link along.
struct Order : muster::InboxLink<Order> {
  Strip strip;
};

struct Worker {
  // Any thread.
  muster::WorkStealingDeque<Strip> deque;
  muster::Inbox<Order> inbox;

  // The sender's, until it is sent.
  unsigned index = 0;
  Order order;

  // The worker's own, until its thread is joined.
  Tally tally;
};

class Crew {
 public:
  Crew(unsigned workers, Picture& picture) : picture_(picture), workers_(workers), lot_(workers) {}

  // Sends home whoever is still here: nobody, unless an exception cut the work short.
  ~Crew() {
    abandoned_ = true;
    lot_.wake_all();
  }

  void start() {
    const auto count = static_cast<unsigned>(workers_.size());
    unfinished_ = count;
    for (unsigned i = 0; i < count; ++i) {
      workers_[i].index = i;
      workers_[i].order.strip = {Picture::kCharacters * i / count,
                                 Picture::kCharacters * (i + 1) / count};
    }
    for (Worker& worker : workers_) threads_.emplace_back([this, &worker] { work(worker); });
    for (Worker& worker : workers_) {
      worker.inbox.push(worker.order);
      lot_.wake_one();  // not always the addressee; therefore all look into all inboxes
    }
  }

  // Sleeps until the picture is finished, at most until `deadline`; says whether it is.
  bool finished_by(std::optional<muster::Time> deadline) {
    const auto ticket = audience_.announce(0);
    if (unfinished_ > 0) {
      audience_.park(ticket, deadline);
    } else {
      audience_.withdraw(ticket);
    }
    return unfinished_ == 0;
  }

  // What each worker has done; waits until all are home.
  std::vector<Tally> join() {
    threads_.clear();
    std::vector<Tally> tallies(workers_.size());
    std::ranges::transform(workers_, tallies.begin(), &Worker::tally);
    return tallies;
  }

  [[nodiscard]] std::size_t asleep_approx() const { return lot_.parked_approx(); }

 private:
  void work(Worker& me) {
    for (;;) {
      while (const auto strip = find(me)) run(me, *strip);
      // From here on, whoever publishes a task sees me and wakes me. A task published before this
      // line may have woken nobody: without a second look I could sleep while it waits.
      const auto ticket = lot_.announce(me.index);
      const auto strip = find(me);
      if (!strip && unfinished_ > 0 && !abandoned_) {
        ++me.tally.parked;
        lot_.park(ticket);
        continue;
      }
      lot_.withdraw(ticket);
      if (!strip) break;
      run(me, *strip);
    }
    me.tally.cpu_seconds = cpu_seconds_of_this_thread();
  }

  // Cuts the strip down to its first character, keeps the rest for later or for thieves, paints.
  void run(Worker& me, Strip strip) {
    while (strip.end - strip.begin > 1) {
      const unsigned middle = strip.begin + (strip.end - strip.begin) / 2;
      ++unfinished_;  // first: a thief may finish it at once
      keep(me, {middle, strip.end});
      strip.end = middle;
    }
    picture_.paint(strip.begin, static_cast<int>(me.index));
    ++me.tally.tasks;
    // A task is counted before the one it comes from ends: only the very last leaves a zero.
    if (--unfinished_ == 0) {
      lot_.wake_all();
      audience_.wake_all();
    }
  }

  void keep(Worker& me, Strip strip) {
    me.deque.owner().push(strip);
    lot_.wake_one();  // no system call unless somebody sleeps
  }

  // First my newest task, whose memory is warm; then my inbox; then what others have.
  std::optional<Strip> find(Worker& me) {
    if (const auto strip = me.deque.owner().pop()) return strip;
    if (const auto strip = open_inbox(me, me)) return strip;
    for (std::size_t next = 1; next < workers_.size(); ++next) {
      Worker& victim = workers_[(me.index + next) % workers_.size()];
      if (const auto strip = steal(me, victim)) return strip;
      if (const auto strip = open_inbox(me, victim)) return strip;
    }
    return std::nullopt;
  }

  // All orders at once, as an inbox gives them: they move to my deque, and the newest is next.
  std::optional<Strip> open_inbox(Worker& me, Worker& addressee) {
    for (auto batch = addressee.inbox.take_all(); const Order* order = batch.next();) {
      keep(me, order->strip);
      if (&addressee != &me) ++me.tally.stolen;
    }
    return me.deque.owner().pop();
  }

  // Half of the victim's strips, the oldest and largest first: enough not to be back soon.
  std::optional<Strip> steal(Worker& me, Worker& victim) {
    std::array<Strip, 8> loot;
    muster::StealBatch batch{};
    do {
      batch = victim.deque.thief().steal_half(loot);
    } while (batch.outcome == muster::StealOutcome::lost_race);  // another got it: try again
    if (batch.count == 0) return std::nullopt;
    for (std::size_t i = 1; i < batch.count; ++i) keep(me, loot[i]);
    me.tally.stolen += batch.count;
    return loot[0];
  }

  Picture& picture_;
  std::vector<Worker> workers_;
  muster::ParkingLot lot_;                // where workers sleep
  muster::ParkingLot audience_{1};        // where main() sleeps
  std::atomic<unsigned> unfinished_ = 0;  // tasks that wait or run
  std::atomic<bool> abandoned_ = false;
  std::vector<std::jthread> threads_;  // last, so that they are joined first
};

void watch(Crew& crew, const Picture& picture, Screen& screen) {
  constexpr std::chrono::milliseconds kFrame(50);
  while (screen.live() && !crew.finished_by(muster::real_clock().now() + kFrame)) {
    screen.draw(picture);
    screen.remark(std::to_string(picture.painted_percent()) +
                  " % painted, workers asleep: " + std::to_string(crew.asleep_approx()));
  }
  while (!crew.finished_by(std::nullopt)) {
  }
}

Report paint(const Options& options, Screen& screen) {
  Report report;
  Picture picture(options.size);
  Crew crew(options.workers, picture);
  const Stopwatch crew_time;
  crew.start();
  watch(crew, picture, screen);
  report.workers = crew.join();
  report.crew = {.seconds = crew_time.seconds(), .checksum = picture.checksum()};
  screen.draw(picture);

  screen.remark("one thread paints it again ...");
  Picture again(options.size);
  const Stopwatch again_time;
  for (unsigned i = 0; i < Picture::kCharacters; ++i) again.paint(i, 0);
  report.one_thread = {.seconds = again_time.seconds(), .checksum = again.checksum()};
  screen.remark("");
  return report;
}

}  // namespace

int main(int, char** argv) {
  try {
    const muster::CpuTopology cpus = muster::detect_cpus();
    const Options options = parse_options(argv + 1, cpus);
    if (options.help) {
      std::cout << kUsage;
      return 0;
    }
    muster::CpuList ids;
    for (const muster::Cpu& cpu : cpus.cpus) ids.push_back(cpu.id);
    std::cout << "workers: " << options.workers << ", CPUs: " << muster::format_cpu_list(ids)
              << "\n\n";
    Screen screen;
    const Report report = paint(options, screen);
    show(report, screen.look());
    return report.crew.checksum == report.one_thread.checksum ? 0 : 1;
  } catch (const muster::InvalidArgument& error) {
    std::cerr << "crew: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "crew: " << error.what() << '\n';
    return 1;
  }
}
