// clock.cpp: base as a whole is not exempt.
std::atomic<int> value;  // want(raw-atomics)
