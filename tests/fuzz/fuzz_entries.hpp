// fuzz_entries.hpp: what is played with input from a fuzzer, or from the random driver. Each entry
// takes any bytes, and aborts if a promise was broken.
#pragma once

#include <string_view>

namespace muster::fuzz {

// A command worker and its pool. A line "!give", "!wait" or "!sleep" is what the pool does: it
// gives a task, looks after some time, or does so after far too long. A line "!prefetch N" starts
// with another worker. Everything else is what the worker writes.
void command_session(std::string_view input);

// Memory in which somebody expects a shared ring: "r" and its bytes; or a ring, broken in places.
// "o", "c" or "l", its geometry, how much of it is missing, and where what is changed; "c" then
// mends the checksum, "l" all that the header says of the layout.
void shared_ring(std::string_view input);

// A text that is to be an event of a type with everything in it.
void job_event(std::string_view input);

// A cron expression, and in the next line a time zone; none: UTC.
void cron(std::string_view input);

}  // namespace muster::fuzz
