// keep.hpp: keeps the optimiser from removing what is measured.
#pragma once

namespace muster::bench {

// The object behind the pointer counts as known to others, from here on.
inline void let_escape(void* object) {
  asm volatile("" : : "g"(object) : "memory");
}

// What unknown code between two operations means to the optimiser: memory that others know may have
// been read and changed. Without it, a loop of operations is merged in a way no real program sees.
inline void do_something_else() {
  asm volatile("" : : : "memory");
}

}  // namespace muster::bench
