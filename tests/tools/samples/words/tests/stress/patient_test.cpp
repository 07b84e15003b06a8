// patient_test.cpp: a stress test may sleep.
void wait() { sleep(1); }
