// fuzz_target.cpp: what libFuzzer calls; MUSTER_FUZZ_ENTRY says which entry it plays.
#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz_entries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  muster::fuzz::MUSTER_FUZZ_ENTRY({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
