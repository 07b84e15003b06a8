// worker.cpp: threads and processes never include each other.
#include <muster/policy/steal.hpp>
#include <muster/processes/spawner.hpp>  // want(layers)
