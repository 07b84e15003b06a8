// move_jobs.cpp: page by page.
#include <algorithm>

#include <muster/jobs/move_jobs.hpp>

#include "jobs/open_store.hpp"
#include "jobs/shared_store.hpp"

namespace muster {
namespace {

constexpr std::size_t kPage = 1000;

void refuse_if_used(Store& store, const std::string& url) {
  if (store.shared() == nullptr || !store.shared()->has_nodes()) return;
  throw StoreFailure(
      {.attempt = "move jobs",
       .reason = "nodes are running on " + url,
       .advice = "stop them first; one that was killed counts until its lease is over"});
}

}  // namespace

MovedJobs move_jobs(const std::string& from, const std::string& to) {
  const std::unique_ptr<Store> source = open_store(from, {});
  const std::unique_ptr<Store> target = open_store(to, {});
  refuse_if_used(*source, from);
  refuse_if_used(*target, to);
  MovedJobs moved;
  for (const WholePool& pool : source->all_pools()) {
    // Whoever defines it says how many instances it has.
    (void)target->open_pool(pool.name, std::max<std::uint32_t>(pool.record.concurrency, 1));
    target->take_in(pool);
    ++moved.pools;
  }
  for (const auto& [name, number] : source->all_memos()) target->remember(name, number);
  for (Store::Page page{.limit = kPage};;) {
    const std::vector<WholeJob> jobs = source->all_jobs(page);
    const std::size_t taken = target->take_in(jobs);
    moved.jobs += taken;
    moved.known += jobs.size() - taken;
    if (jobs.size() < page.limit) return moved;
    page.after = jobs.back().record.seq;
  }
}

}  // namespace muster
