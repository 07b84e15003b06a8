// course.hpp: how many workers there were, and should have been, from moment to moment.
#pragma once

#include <string>
#include <vector>

namespace muster::bench {

struct Course {
  struct Moment {
    double seconds = 0;
    double arrivals_per_second = 0;
    unsigned workers = 0;
  };

  std::string load;
  std::string policy;
  std::vector<Moment> moments;
};

// Of each load and policy the last that was measured. For the thread that runs the rounds.
const std::vector<Course>& scaling_courses();

// What a task takes on average: so many times the arrivals per second are workers busy.
double scaling_task_seconds();

}  // namespace muster::bench
