// main.cpp: runs the tests, and is the spawner or a worker in those that need one.
#include <gtest/gtest.h>

#include <muster/worker_main.hpp>

#include "test_tasks.hpp"

int main(int argc, char** argv) {
  muster::worker_main(argc, argv, muster::make_test_registry());
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
