// pool.cpp: jobs may use both kinds of pool, but neither export nor the tests.
#include <muster/process_pool.hpp>
#include <muster/thread_pool.hpp>
#include <muster/export/prometheus.hpp>  // want(layers)
#include "support/fake_clock.hpp"  // want(layers)
#include "tests/support/not_there.hpp"  // want(layers)
#include "../../examples/hello.hpp"  // want(layers)
