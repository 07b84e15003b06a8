// log.cpp: may name the real thing.
#include <atomic>
std::atomic<int> value;
