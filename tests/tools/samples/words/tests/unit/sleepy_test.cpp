// sleepy_test.cpp: tests that are switched off, and tests that sleep.
TEST(Sleepy, DISABLED_Sleeps) {  // want(words)
  GTEST_SKIP() << "not today";  // want(words)
  std::this_thread::sleep_for(1ms);  // want(words)
  std::this_thread::sleep_until(noon);  // want(words)
  usleep(3);  // want(words)
  ::sleep(1);  // want(words)
  sleep (1);  // want(words)
  print("sleep(1) GTEST_SKIP() DISABLED_");  // sleep_for(1ms), DISABLED_Sleeps
  worker.sleep();
  lot->sleep();
  go_to_sleep();
}
