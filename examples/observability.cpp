// observability.cpp: a pool under a load that comes and goes, and /metrics for Prometheus to read.
// What to do with it: examples/observability/README.md.
//
//     observability [--port=9464] [--seconds=0]
//
// Port 0 lets the system choose; 0 seconds: until it is interrupted.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <prometheus/exposer.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <muster/base/random.hpp>
#include <muster/error.hpp>
#include <muster/export/prometheus.hpp>
#include <muster/thread_pool.hpp>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Options {
  unsigned port = 9464;
  unsigned seconds = 0;
};

unsigned number_behind(std::string_view name, const std::string& argument) {
  std::size_t read = 0;
  const std::string digits = argument.substr(name.size());
  const unsigned long number = std::stoul(digits, &read);
  if (read != digits.size() || number > 65'535) throw std::invalid_argument(argument);
  return static_cast<unsigned>(number);
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--port=")) {
      options.port = number_behind("--port=", argument);
    } else if (argument.starts_with("--seconds=")) {
      options.seconds = number_behind("--seconds=", argument);
    } else {
      throw std::invalid_argument("usage: observability [--port=N] [--seconds=N]");
    }
  }
  return options;
}

volatile std::sig_atomic_t interrupted = 0;

// Most requests are short, a few long, and one in fifty fails. Each waits for somebody else, as
// requests do.
void serve(double luck) {
  std::this_thread::sleep_for(luck < 0.9 ? 200us : luck < 0.99 ? 3ms : 30ms);
  if (luck < 0.02) throw std::runtime_error("the database is away");
}

// Up and down within ten seconds; at the top it is more than four workers can serve.
void load(muster::ThreadPool& pool, Clock::time_point end) {
  muster::Random random(1);
  int step = 0;
  for (auto next = Clock::now(); next < end && interrupted == 0; next += 10ms) {
    std::this_thread::sleep_until(next);
    const int requests = std::abs(step++ % 1000 - 500) / 7;
    for (int i = 0; i < requests; ++i) {
      try {
        pool.post([luck = random.real()] { serve(luck); });
      } catch (const muster::QueueFull&) {
        continue;  // counted by the pool
      }
    }
  }
}

void run(const Options& options) {
  muster::ThreadPool pool({.workers = 4,
                           .admission = {.max_queued = 200, .when_full = muster::WhenFull::reject},
                           .timing = muster::Timing::full,
                           .on_error = [](const std::exception_ptr&) {}});  // counted by the pool

  const auto pools = std::make_shared<muster::PoolCollectable>(
      std::vector<muster::PoolSource>{{"web", [&] { return pool.snapshot(); }}});
  prometheus::Exposer exposer("127.0.0.1:" + std::to_string(options.port));
  exposer.RegisterCollectable(pools);

  std::cout << "http://127.0.0.1:" << exposer.GetListeningPorts().at(0) << "/metrics\n"
            << std::flush;
  load(pool, options.seconds == 0 ? Clock::time_point::max()
                                  : Clock::now() + std::chrono::seconds(options.seconds));
  const muster::NamedSnapshot seen[] = {{"web", pool.snapshot()}};
  const std::string text = muster::prometheus_text(seen);
  if (text.find("muster_tasks_total{pool=\"web\"") == std::string::npos) {
    throw std::runtime_error("the pool's figures are not in the text");
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
  try {
    run(parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
