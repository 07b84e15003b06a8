// peers.cpp: outside the library everything goes.
volatile std::atomic<int> value;
