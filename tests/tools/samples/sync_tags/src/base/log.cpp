// log.cpp: base stands below the seam and is exempt.
void set_level(int level) { current.store(level, std::memory_order_release); }
