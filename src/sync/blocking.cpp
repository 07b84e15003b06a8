// blocking.cpp: the employer of each thread.
#include <muster/sync/blocking.hpp>

namespace muster {

Employer::~Employer() = default;

constinit thread_local Employer* current_employer = nullptr;

}  // namespace muster
