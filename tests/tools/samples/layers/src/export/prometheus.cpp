// prometheus.cpp: export stands above observe and beside everything else.
#include <muster/metrics.hpp>
#include <muster/queues/ring.hpp>
#include <muster/policy/retry.hpp>  // want(layers)
#include <muster/server/routes.hpp>  // want(layers)
