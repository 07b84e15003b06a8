// api.hpp: marks what the compiled libraries export; every other symbol stays hidden.
//
// Goes on each public function, class or variable that a .cpp file defines. Templates and inline
// functions need no mark; exceptions always do, or they cannot be caught across a library's edge.
#pragma once

#define MUSTER_API __attribute__((visibility("default")))
