// atomic.hpp: may name the real thing.
#pragma once
#include <atomic>
std::atomic<int> value;
