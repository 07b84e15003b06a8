// orders_test.cpp: tests need no tags.
void test() { flag.store(1, release); }
