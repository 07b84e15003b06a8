// built_in.hpp: makes each of the built-in strategies; one file for each.
#pragma once

#include <memory>

#include <muster/strategy.hpp>

namespace muster {

std::unique_ptr<Strategy> make_fair_share();
std::unique_ptr<Strategy> make_interleaved_weighted();
std::unique_ptr<Strategy> make_least_busy();
std::unique_ptr<Strategy> make_least_elu();
std::unique_ptr<Strategy> make_least_used();
std::unique_ptr<Strategy> make_round_robin();
std::unique_ptr<Strategy> make_weighted_round_robin();

}  // namespace muster
