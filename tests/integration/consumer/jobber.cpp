// jobber.cpp: the smallest program with durable jobs; it must build with public headers alone.
#include <cstdio>
#include <string>

#include <muster/job_pool.hpp>
#include <muster/version.hpp>

int main() {
  muster::Jobs jobs = muster::Jobs::open("memory:");
  const auto texts = jobs.define<std::string>(
      "texts", {.concurrency = 1, .execute = [](muster::JobContext&, const std::string& text) {
                  std::printf("%s\n", text.c_str());
                }});
  jobs.start();
  texts.enqueue({.id = "1", .event = std::string("consumer of muster ") + MUSTER_VERSION});
  return texts.drain() == muster::DrainOutcome::drained ? 0 : 1;
}
