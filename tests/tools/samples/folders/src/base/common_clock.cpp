// common_clock.cpp: only folders are meant.
