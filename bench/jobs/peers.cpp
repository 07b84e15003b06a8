// peers.cpp: which peers there are, and how they are asked.
#include "jobs/peers.hpp"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <stdexcept>

#include <muster/sync/atomic.hpp>

#include "jobs/beanstalkd.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/peer_server.hpp"
#include "jobs/sizes.hpp"
#include "jobs/timing.hpp"
#include "processes/child_process.hpp"
#include "support/together.hpp"

namespace muster::bench {
namespace {

namespace fs = std::filesystem;

// Where peers/install.sh has put them.
const fs::path kFolder = MUSTER_BENCH_PEERS_DIR;

struct Answer {
  std::uint64_t jobs = 0;  // in that time
  double seconds = 0;
  std::uint64_t all_jobs = 0;  // that there were
  std::uint64_t written_bytes = 0;
  std::uint64_t dead_tuples = 0;
};

// --- queues of Node ---------------------------------------------------------------------------

Answer ask_node(const std::string& script, PeerWork work, const std::string& where) {
  // Ends with this program, however that ends.
  const std::string node = "exec setpriv --pdeathsig KILL node ";
  const std::string command = "cd '" + kFolder.string() + "' && " + node + script +
                              (work == PeerWork::enqueue ? " enqueue " : " execute ") +
                              std::to_string(sizes().peer_jobs) + " '" + where + "'";
  const std::string line = output_of(command);
  Answer answer;
  if (std::sscanf(line.c_str(), R"({"items":%lu,"seconds":%lf,"all_items":%lu})", &answer.jobs,
                  &answer.seconds, &answer.all_jobs) != 3) {
    throw std::runtime_error("a peer says \"" + line + "\", asked by " + command);
  }
  return answer;
}

Answer ask_on_postgres(const std::string& script, PeerWork work) {
  const Place place(StoreKind::postgres);
  Answer answer = ask_node(script, work, place.url());
  answer.written_bytes = place.written_bytes();
  answer.dead_tuples = place.dead_tuples();
  return answer;
}

Answer ask_on_redis(unsigned concurrency, PeerWork work) {
  const PeerServer server(redis());
  const std::string where = std::to_string(server.port()) + "' '" + std::to_string(concurrency);
  Answer answer = ask_node("bullmq.mjs", work, where);
  answer.written_bytes = server.written_bytes();
  return answer;
}

// --- beanstalkd -------------------------------------------------------------------------------

// By as many connections as muster has instances.
double empty_beanstalkd(int port, std::uint64_t jobs) {
  constexpr std::size_t kAtOnce = 100;
  Atomic<std::uint64_t> done = 0;
  const Role role = [&done, port](StartLine& start) {
    Beanstalkd client(port);
    start.wait();
    while (const std::size_t some = client.run(kAtOnce)) {
      done.fetch_add(some, relaxed);  // relaxed: read after the join
    }
  };
  const double seconds = run_together(std::vector<Role>(kInstances, role));
  if (done.load(relaxed) == jobs) return seconds;  // relaxed: all have ended
  throw std::runtime_error("beanstalkd had " + std::to_string(done.load(relaxed)) + " jobs of " +
                           std::to_string(jobs));
}

Answer ask_beanstalkd(unsigned sync_ms, std::uint64_t count, PeerWork work) {
  const PeerServer server(beanstalkd(sync_ms));
  Beanstalkd client(server.port());
  const std::vector<EncodedJob> jobs = encoded_mails(make_mails({0, count}, Ids::sequential));
  double seconds = seconds_of([&client, &jobs] {
    for_each_batch(jobs, [&client](std::span<const EncodedJob> batch) { client.put(batch); });
  });
  if (work == PeerWork::execute) seconds = empty_beanstalkd(server.port(), count);
  return {.jobs = count,
          .seconds = seconds,
          .all_jobs = count,
          .written_bytes = server.written_bytes()};
}

// --- all of them ------------------------------------------------------------------------------

struct Peer {
  std::string name;
  StoreKind beside;
  enum class Rank { judged, shown, shown_executing } rank;
  std::string program;
  std::string package;  // of npm; empty: none
  std::function<Answer(PeerWork work)> ask;
};

const std::vector<Peer>& all_peers() {
  constexpr auto kSqlite = StoreKind::sqlite;
  constexpr auto kPostgres = StoreKind::postgres;
  using Rank = Peer::Rank;
  static const std::vector<Peer> kPeers{
      {"beanstalkd", kSqlite, Rank::judged, "beanstalkd", "",
       [](PeerWork work) { return ask_beanstalkd(0, sizes().synced_jobs, work); }},
      {"beanstalkd, 50 ms late", kSqlite, Rank::shown, "beanstalkd", "",
       [](PeerWork work) { return ask_beanstalkd(50, sizes().peer_jobs, work); }},
      {"BullMQ", kSqlite, Rank::judged, "redis-server", "bullmq",
       [](PeerWork work) { return ask_on_redis(kInstances, work); }},
      {"BullMQ, 100 at hand", kSqlite, Rank::shown_executing, "redis-server", "bullmq",
       [](PeerWork work) { return ask_on_redis(100, work); }},
      {"graphile-worker", kPostgres, Rank::judged, "node", "graphile-worker",
       [](PeerWork work) { return ask_on_postgres("graphile_worker.mjs", work); }},
      {"pg-boss", kPostgres, Rank::judged, "node", "pg-boss",
       [](PeerWork work) { return ask_on_postgres("pg_boss.mjs", work); }}};
  return kPeers;
}

bool is_here(const Peer& peer) {
  if (path_of(peer.program).empty() || !can_have(peer.beside)) return false;
  if (peer.package.empty()) return true;
  return !path_of("node").empty() && !path_of("setpriv").empty() &&
         fs::exists(kFolder / "node_modules" / peer.package);
}

const std::vector<Peer>& peers_here() {
  static const std::vector<Peer> kHere = [] {
    std::vector<Peer> here;
    for (const Peer& peer : all_peers()) {
      if (is_here(peer)) {
        here.push_back(peer);
      } else {
        std::cerr << "left out: " << peer.name << ", which is not here; ./dev bench jobs installs "
                  << "it\n";
      }
    }
    return here;
  }();
  return kHere;
}

std::vector<double> other_figures(const Answer& answer, StoreKind beside, PeerWork work) {
  std::vector<double> figures{per_job(answer.written_bytes, answer.all_jobs)};
  if (beside == StoreKind::postgres && work == PeerWork::execute) {
    figures.push_back(per_job(answer.dead_tuples, answer.all_jobs));
  }
  return figures;
}

std::vector<Peer> peers_for(PeerWork work, StoreKind beside) {
  std::vector<Peer> peers;
  for (const Peer& peer : peers_here()) {
    if (peer.beside != beside) continue;
    if (peer.rank == Peer::Rank::shown_executing && work == PeerWork::enqueue) continue;
    peers.push_back(peer);
  }
  return peers;
}

}  // namespace

std::vector<std::string> judged_peer_names(StoreKind beside) {
  std::vector<std::string> names;
  for (const Peer& peer : all_peers()) {
    if (peer.beside == beside && peer.rank == Peer::Rank::judged) names.push_back(peer.name);
  }
  return names;
}

std::vector<std::string> peer_names(PeerWork work, StoreKind beside) {
  std::vector<std::string> names;
  for (const Peer& peer : peers_for(work, beside)) names.push_back(peer.name);
  return names;
}

std::vector<Contender> peers_that(PeerWork work, StoreKind beside) {
  std::vector<Contender> contenders;
  for (const Peer& peer : peers_for(work, beside)) {
    contenders.push_back({peer.name, [peer, work](std::uint64_t /*jobs*/) {
                            const Answer answer = peer.ask(work);
                            return speed_sample(answer.jobs, answer.seconds,
                                                other_figures(answer, peer.beside, work));
                          }});
  }
  return contenders;
}

}  // namespace muster::bench
