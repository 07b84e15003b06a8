// routes.cpp: server may include export and everything below itself.
#include <muster/export/prometheus.hpp>
#include <muster/job_pool.hpp>
#include <muster/base/clock.hpp>
#include <muster/cli/commands.hpp>  // want(layers)
