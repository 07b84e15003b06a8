// job.cpp: names.
#include <algorithm>

#include <muster/jobs/job.hpp>

#include "jobs/shared_store.hpp"
#include "jobs/store.hpp"

namespace muster {

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::available:
      return "available";
    case JobState::completed:
      return "completed";
    case JobState::dead:
      return "dead";
    case JobState::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(InstanceState state) {
  switch (state) {
    case InstanceState::processing:
      return "processing";
    case InstanceState::idle:
      return "idle";
    case InstanceState::paused:
      return "paused";
  }
  return "unknown";
}

Store::~Store() = default;

std::vector<Inserted> Store::insert_with(pg_conn* /*connection*/,
                                         std::span<const NewJob> /*jobs*/) {
  throw InvalidArgument({.field = "connection",
                         .value = "of PostgreSQL",
                         .rule = "must not be given: the store is no PostgreSQL database"});
}

SharedStore::~SharedStore() = default;

Over what_is_over(const Retention& retention, const JobRecord& job, WallTime now) {
  if (job.state == JobState::available) return Over::nothing;
  const Duration age = now - job.at;
  const Duration kept = job.state == JobState::dead ? retention.dead : retention.completed;
  if (age > std::max(retention.ids, kept)) return Over::all;
  return age > kept ? Over::contents : Over::nothing;
}

}  // namespace muster
