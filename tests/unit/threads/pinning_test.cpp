// pinning_test.cpp: workers stay on their CPUs, and have their memory there.
#include <cstddef>
#include <functional>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/cpu_topology.hpp>
#include <muster/blocking.hpp>
#include <muster/thread_pool.hpp>

#include "threads/crew.hpp"

namespace muster {
namespace {

CpuList mask_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(pthread_getaffinity_np(pthread_self(), sizeof(set), &set), 0);
  CpuList cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

CpuList usable_cpus() {
  CpuList cpus;
  for (const Cpu& cpu : detect_cpus().cpus) cpus.push_back(cpu.id);
  return cpus;
}

TEST(Pinning, AWorkerStaysOnItsListedCpu) {
  const CpuList usable = usable_cpus();
  ThreadPool pool({.workers = 1, .pinning = Pinning::listed, .cpus = {usable.back()}});
  EXPECT_EQ(pool.run(mask_of_this_thread), CpuList{usable.back()});
  EXPECT_EQ(mask_of_this_thread(), usable) << "nobody else is pinned";
}

TEST(Pinning, WithoutItWorkersRunAnywhere) {
  ThreadPool pool({.workers = 1});
  EXPECT_EQ(pool.run(mask_of_this_thread), usable_cpus());
}

TEST(Pinning, SpreadAndCompactGiveEachWorkerOneCpu) {
  for (const Pinning pinning : {Pinning::spread, Pinning::compact}) {
    ThreadPool pool({.workers = 3, .pinning = pinning});
    EXPECT_EQ(pool.run(mask_of_this_thread).size(), 1U);
  }
}

TEST(Pinning, ASpareMayUseTheCpusOfAllWorkers) {
  const CpuList usable = usable_cpus();
  ThreadPool pool({.workers = 1, .pinning = Pinning::listed, .cpus = {usable.front()}});
  CpuList mask;
  pool.run([&] {
    Future<CpuList> elsewhere = pool.submit(mask_of_this_thread);
    blocking([&] {
      while (!elsewhere.is_ready()) sched_yield();
    });
    mask = elsewhere.get();
  });
  EXPECT_EQ(mask, CpuList{usable.front()});
}

std::string refusal(const ThreadPoolOptions& options) {
  try {
    const ThreadPool pool(options);
    return "none";
  } catch (const InvalidArgument& error) {
    return error.bad_fields().at(0).field;
  }
}

TEST(Pinning, CpusThatCannotBeUsedAreRefusedByName) {
  const unsigned usable = usable_cpus().front();
  EXPECT_EQ(refusal({.workers = 1, .pinning = Pinning::listed, .cpus = {usable, 60'000}}),
            "cpus[1]");
  EXPECT_EQ(refusal({.workers = 1, .pinning = Pinning::listed}), "cpus");
  EXPECT_EQ(refusal({.workers = 1, .cpus = {usable}}), "cpus");
}

}  // namespace
}  // namespace muster
