// atomic.hpp: the seam is exempt.
#pragma once

inline constexpr std::memory_order acquire = std::memory_order_acquire;
