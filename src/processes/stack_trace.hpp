// stack_trace.hpp: lets a worker that hangs say where, before it is killed.
#pragma once

namespace muster {

// In a worker: upon SIGQUIT its main thread writes where it is to its standard error, function by
// function as far as their names are known (link with -rdynamic), and is then killed.
void trace_on_request();

}  // namespace muster
