// mutations.cpp: the list of weakenings, and the table of what noticed them.
#include "support/explorer/mutations.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

namespace muster::explore {
namespace {

// MUSTER_TORTURE=1 looks one preemption and one stale read further; but a scenario without stale
// reads is about memory that has none.
Limits with_torture(Limits limits) {
  const char* torture = std::getenv("MUSTER_TORTURE");
  if (torture == nullptr || *torture == '0') return limits;
  if (limits.preemptions != kUnbounded) ++limits.preemptions;
  if (limits.stale_reads > 0) ++limits.stale_reads;
  limits.runs *= 100;
  return limits;
}

std::string source_line(const Site& site) {
  std::ifstream file(site.file);
  std::string line;
  for (unsigned i = 0; i < site.line; ++i) std::getline(file, line);
  line = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return line.substr(0, line.find("  //"));
}

const char* name(Weakening weakening) {
  switch (weakening) {
    case Weakening::none:
      return "none";
    case Weakening::drop_acquire:
      return "no acquire";
    case Weakening::drop_release:
      return "no release";
    case Weakening::drop_failure_acquire:
      return "no acquire on failure";
    case Weakening::drop_seq_cst:
      return "no seq_cst";
    case Weakening::to_relaxed:
      return "relaxed";
    case Weakening::drop_store:
      return "no store";
    case Weakening::drop_wake:
      return "no wake";
  }
  return "?";
}

std::vector<Weakening> weakenings(const Site& site) {
  std::vector<Weakening> list;
  const auto order = static_cast<std::memory_order>(site.order);
  if (site.operation == "wake") return {Weakening::drop_wake};
  if (site.operation == "failed") {
    if (order != std::memory_order_relaxed) list = {Weakening::drop_failure_acquire};
    return list;
  }
  if (order == std::memory_order_acquire) list = {Weakening::drop_acquire};
  if (order == std::memory_order_release) list = {Weakening::drop_release};
  if (order == std::memory_order_acq_rel) list = {Weakening::drop_acquire, Weakening::drop_release};
  if (order == std::memory_order_seq_cst) list = {Weakening::drop_seq_cst};
  if (order == std::memory_order_seq_cst && site.operation != "fence") {
    list.push_back(Weakening::to_relaxed);
  }
  if (site.operation == "store") list.push_back(Weakening::drop_store);
  return list;
}

// The scenario that fails under the mutation, and how; empty if none does. Most need little: look
// near first.
std::string caught_by(const std::vector<Scenario>& scenarios, const Mutation& mutation,
                      const std::vector<int>& bounds) {
  for (const int bound : bounds) {
    for (const Scenario& scenario : scenarios) {
      Limits limits = scenario.limits;
      if (bound != kUnbounded) limits.preemptions = limits.stale_reads = bound;
      const Report report = explore(limits, scenario.setup, mutation);
      if (!report.failure.empty()) return scenario.name + ": " + report.failure;
    }
  }
  return "";
}

std::set<Site> sites_in(const std::vector<Scenario>& scenarios, const std::string& file) {
  std::set<Site> sites;
  for (const Scenario& scenario : scenarios) {
    Limits one_run = scenario.limits;
    one_run.runs = 20'000;  // enough to come by every line
    for (const Site& site : explore(one_run, scenario.setup).sites) {
      if (site.file.ends_with("/" + file)) sites.insert(site);
    }
  }
  return sites;
}

const Accepted* accepted_for(const std::vector<Accepted>& accepted, const std::string& code,
                             Weakening weakening) {
  for (const Accepted& entry : accepted) {
    if (entry.weakening == weakening && code.find(entry.code) != std::string::npos) return &entry;
  }
  return nullptr;
}

}  // namespace

void expect_all_hold(const std::vector<Scenario>& scenarios) {
  for (const Scenario& scenario : scenarios) {
    const Limits limits = with_torture(scenario.limits);
    const Report report = explore(limits, scenario.setup);
    const std::string preemptions =
        limits.preemptions == kUnbounded ? "any" : std::to_string(limits.preemptions);
    std::printf(
        "%-34s %15.0f schedules in %8llu runs, %8llu states (%s preemptions, %d stale reads)\n",
        scenario.name.c_str(), report.schedules, static_cast<unsigned long long>(report.runs),
        static_cast<unsigned long long>(report.states), preemptions.c_str(), limits.stale_reads);
    std::fflush(stdout);
    EXPECT_EQ(report.failure, "") << scenario.name << "\n" << report.trail;
    EXPECT_TRUE(report.exhausted || !report.failure.empty())
        << scenario.name << " has more than " << limits.runs << " runs";
  }
}

void expect_weakenings_caught(const std::vector<Scenario>& scenarios, const std::string& file,
                              const std::vector<Accepted>& accepted) {
  const std::set<Site> sites = sites_in(scenarios, file);
  EXPECT_FALSE(sites.empty()) << "no access of " << file << " was explored";
  for (const Site& site : sites) {
    const std::string code = source_line(site);
    for (const Weakening weakening : weakenings(site)) {
      const Accepted* reason = accepted_for(accepted, code, weakening);
      const std::vector<int> bounds =
          reason == nullptr ? std::vector<int>{1, 2, kUnbounded} : std::vector<int>{1, 2};
      const std::string caught = caught_by(
          scenarios, {.file = site.file, .line = site.line, .weakening = weakening}, bounds);
      std::printf("%s:%u  %-10s %-52.52s  %s\n", file.c_str(), site.line, name(weakening),
                  code.c_str(), caught.empty() ? "NOT NOTICED" : caught.c_str());
      std::fflush(stdout);
      if (reason != nullptr) {
        std::printf("    accepted: %s\n", reason->reason.c_str());
        EXPECT_EQ(caught, "") << "noticed after all; it need not be accepted: " << code;
      } else {
        EXPECT_NE(caught, "") << file << ':' << site.line << " " << name(weakening)
                              << " is not noticed: " << code;
      }
    }
  }
}

}  // namespace muster::explore
