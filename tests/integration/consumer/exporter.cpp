// exporter.cpp: the smallest program that exports; it must build with public headers alone.
#include <chrono>
#include <cstdio>
#include <string>

#include <muster/export/otlp.hpp>
#include <muster/export/prometheus.hpp>
#include <muster/version.hpp>

int main() {
  const muster::NamedSnapshot seen[] = {{"io", {}}};
  if (muster::prometheus_text(seen).find("muster_tasks_total") == std::string::npos) return 1;
  muster::OtlpExporter exporter({});
  if (!exporter.stop(std::chrono::seconds(1))) return 1;
  std::printf("consumer of muster %s works\n", MUSTER_VERSION);
  return 0;
}
