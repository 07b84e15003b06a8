// main.cpp: runs the tests, and is the spawner or a worker in those that need one.
#include <gtest/gtest.h>

#include <muster/worker_main.hpp>

#include "test_tasks.hpp"

// The count of those who hold an exception is in the C++ library, which TSan does not see into. So
// it takes whoever lets go of a task's error last, and frees it, for somebody who races with the
// one that has read it.
extern "C" const char* __tsan_default_suppressions();
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that TSan looks for
extern "C" const char* __tsan_default_suppressions() {
  return "race:muster::ProcessTask::~ProcessTask";
}

int main(int argc, char** argv) {
  muster::worker_main(argc, argv, muster::make_test_registry());
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
