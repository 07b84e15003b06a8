// main.cpp: runs the tests, and is the spawner in those that need one.
#include <gtest/gtest.h>

#include <muster/processes/spawner.hpp>

int main(int argc, char** argv) {
  muster::spawner_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
