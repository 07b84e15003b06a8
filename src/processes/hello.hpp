// hello.hpp: what a worker says to its pool before it takes tasks, over a socket of its own.
//
// One packet for each task and each capability, and then one to say that it is ready, or why it
// never will be.
//
// Thread safety: plain functions of a descriptor.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <muster/registry.hpp>

#include "processes/member.hpp"

namespace muster {

// In the worker. The socket is one that waits. False: the pool is gone.
bool say_hello(int socket, const Registry& registry);
void say_failure(int socket, std::string_view why);

enum class HelloOutcome {
  more,    // nothing more for now
  ready,   // all is said
  failed,  // it will not be ready; the text says why
  closed,  // the worker is gone, or never was one
};

// In the pool. Never waits. Adds what has come to `abilities`, or to `text`.
HelloOutcome hear_hello(int socket, Abilities& abilities, std::string& text);

}  // namespace muster
