// sender.cpp: a pool that has run 100 tasks, three traced tasks, and an exporter that sends them to
// where the argument says. otlp_test.mjs knows these numbers.
#include <chrono>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

#include <muster/export/otlp.hpp>
#include <muster/thread_pool.hpp>

namespace {

using namespace std::chrono_literals;

const struct {
  std::string traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  std::string tracestate = "vendor=1";
} request;

// Says with which headers it would ask somebody else.
void handle_request() {
  const muster::TraceHeaders outgoing = to_headers(muster::current_trace());
  std::cout << outgoing.traceparent << ' ' << outgoing.tracestate << '\n';
}

void record_request(muster::ThreadPool& pool, muster::OtlpExporter& exporter) {
  const std::optional<muster::TraceContext> parent =
      muster::parse({.traceparent = request.traceparent, .tracestate = request.tracestate});

  const muster::TraceContext context = exporter.begin(parent.value_or(muster::TraceContext()));
  const muster::Time accepted = muster::real_clock().now();
  pool.post([&exporter, parent, context, accepted] {
    const muster::Time started = muster::real_clock().now();
    const muster::TraceScope scope(context);  // what current_trace() says in there
    handle_request();
    exporter.record({.pool = "io",
                     .name = "request",
                     .accepted = accepted,
                     .started = started,
                     .ended = muster::real_clock().now(),
                     .parent = parent.value_or(muster::TraceContext()),
                     .context = context});
  });
  pool.wait_idle();
}

void record_others(muster::OtlpExporter& exporter) {
  const muster::Time now = muster::real_clock().now();
  const muster::TraceContext parent = muster::parse({.traceparent = request.traceparent}).value();
  exporter.record({.pool = "io",
                   .name = "resize",
                   .accepted = now - 30ms,
                   .started = now - 20ms,
                   .ended = now,
                   .worker = 1,
                   .outcome = muster::TaskOutcome::failed,
                   .error = "no \"space\" left",
                   .parent = parent,
                   .context = exporter.begin(parent)});
  exporter.record({.pool = "io",
                   .accepted = now - 30ms,
                   .ended = now,
                   .outcome = muster::TaskOutcome::cancelled,
                   .context = exporter.begin({})});
}

void send_to(const std::string& endpoint) {
  muster::ThreadPool pool({.workers = 2, .timing = muster::Timing::full, .on_error = [](auto) {}});
  for (int i = 0; i < 99; ++i) {
    pool.post([i] {
      if (i % 10 == 0) throw std::runtime_error("every tenth");
    });
  }

  muster::OtlpExporter exporter({.endpoint = endpoint,
                                 .service_name = "shop",
                                 .pools = {{"io", [&] { return pool.snapshot(); }}},
                                 .metrics_interval = 15s});
  record_request(pool, exporter);
  record_others(exporter);
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
