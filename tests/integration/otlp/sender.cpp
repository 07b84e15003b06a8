// sender.cpp: a pool that has run 100 tasks, another that traces two, two made-up ones, and
// exporters that send all that to where the argument says. otlp_test.mjs knows these numbers.
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
void ask_somebody() {
  const muster::TraceHeaders outgoing = to_headers(muster::current_trace());
  std::cout << outgoing.traceparent << ' ' << outgoing.tracestate << '\n';
}

void serve_request(muster::OtlpExporter& exporter) {
  muster::ThreadPool pool({.workers = 1, .tracer = &exporter, .traced_as = "web"});

  const std::optional<muster::TraceContext> parent =
      muster::parse({.traceparent = request.traceparent, .tracestate = request.tracestate});
  const muster::TraceScope scope(parent ? *parent : muster::current_trace());
  pool.post({.name = "request"},
            [&pool] { pool.post({.name = "question"}, [] { ask_somebody(); }); });
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
  for (int i = 0; i < 100; ++i) {
    pool.post([i] {
      if (i % 10 == 0) throw std::runtime_error("every tenth");
    });
  }

  muster::OtlpExporter exporter({.endpoint = endpoint,
                                 .service_name = "shop",
                                 .pools = {{"io", [&] { return pool.snapshot(); }}},
                                 .metrics_interval = 15s});
  pool.wait_idle();
  serve_request(exporter);
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
