// assert.cpp: the cold half of MUSTER_ASSERT: collect one report and abort with it.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <muster/base/assert.hpp>

namespace muster::detail {
namespace {

// One per thread, so that two threads failing at once do not mix their reports.
std::ostringstream& report() {
  thread_local std::ostringstream text;
  return text;
}

}  // namespace

std::ostream& begin_report(const char* expression, std::source_location location) noexcept {
  report() = std::ostringstream();
  report() << location.file_name() << ':' << location.line() << ": " << location.function_name()
           << ": assertion failed: " << expression;
  return report();
}

std::ostream& continue_report() noexcept {
  return report();
}

void finish_report() noexcept {
  report() << '\n';
  std::fputs(report().str().c_str(), stderr);
  std::abort();
}

void print_pointer(std::ostream& out, std::uintptr_t address) {
  out << "0x" << std::hex << address << std::dec;
}

}  // namespace muster::detail
