// raw.cpp: goes around the seam; std::atomic and volatile in a comment do not.
#include <atomic>  // want(raw-atomics)
#include <stdatomic.h>  // want(raw-atomics)

std::atomic<int> count;  // want(raw-atomics)
std::atomic_flag flag;  // want(raw-atomics)
std::  // want(raw-atomics)
    atomic_ref<int> reference(number);
int read() { return __atomic_load_n(&number, __ATOMIC_RELAXED); }  // want(raw-atomics)
void fence() { std::atomic_thread_fence(order); }  // want(raw-atomics)
volatile int spins;  // want(raw-atomics)
#define SPIN(x) static_cast<volatile int&>(x)  // want(raw-atomics)

const char* text = "std::atomic<int> is volatile";
void pause() { asm volatile("isb"); }
Atomic<int> fine = 0;
my::std_atomic_like also_fine;
