// sender.cpp: a pool that has run 100 tasks, two traced tasks, and an exporter that sends them to
// where the argument says. otlp_test.mjs knows these numbers.
#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include <muster/export/otlp.hpp>
#include <muster/thread_pool.hpp>

namespace {

using namespace std::chrono_literals;

void send_to(const std::string& endpoint) {
  muster::ThreadPool pool({.workers = 2, .timing = muster::Timing::full, .on_error = [](auto) {}});
  for (int i = 0; i < 100; ++i) {
    pool.post([i] {
      if (i % 10 == 0) throw std::runtime_error("every tenth");
    });
  }
  pool.wait_idle();

  // [guide]
  muster::OtlpExporter exporter({.endpoint = endpoint,
                                 .service_name = "shop",
                                 .pools = {{"io", [&] { return pool.snapshot(); }}},
                                 .metrics_interval = 15s});
  // [guide]
  const muster::Time now = muster::real_clock().now();
  const auto parent =
      muster::parse({.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                     .tracestate = "vendor=1"});
  exporter.record({.pool = "io",
                   .name = "resize",
                   .accepted = now - 30ms,
                   .started = now - 20ms,
                   .ended = now,
                   .worker = 1,
                   .outcome = muster::TaskOutcome::failed,
                   .error = "no \"space\" left",
                   .parent = parent.value(),
                   .context = exporter.begin(parent.value())});
  exporter.record({.pool = "io",
                   .accepted = now - 30ms,
                   .ended = now,
                   .outcome = muster::TaskOutcome::cancelled,
                   .context = exporter.begin({})});
  if (!exporter.stop(30s)) throw std::runtime_error(exporter.stats().last_error);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::invalid_argument("usage: sender ENDPOINT");
    send_to(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
