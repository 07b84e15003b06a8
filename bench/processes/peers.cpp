// peers.cpp: which peers there are, and how they are asked.
#include "processes/peers.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include "processes/child_process.hpp"

namespace muster::bench {
namespace {

namespace fs = std::filesystem;

// Where peers/install.sh has put them.
const fs::path kFolder = MUSTER_BENCH_PEERS_DIR;

struct Peer {
  std::string name;
  std::string interpreter;
  std::string script;
  std::string package;  // of npm; empty: none
  std::string kind;     // what the script is told last
};

const std::vector<Peer>& all_peers() {
  static const std::vector<Peer> kPeers{
      {"piscina", "node", "piscina.mjs", "piscina", ""},
      {"poolifier threads", "node", "poolifier_threads.mjs", "poolifier", ""},
      {"poolifier processes", "node", "poolifier_processes.mjs", "poolifier", ""},
      {"workerpool threads", "node", "workerpool.mjs", "workerpool", "thread"},
      {"workerpool processes", "node", "workerpool.mjs", "workerpool", "process"},
      {"python executor", "python3", "executor.py", "", ""}};
  return kPeers;
}

bool is_here(const Peer& peer) {
  const bool is_installed =
      fs::exists(kFolder / peer.script) &&
      (peer.package.empty() || fs::exists(kFolder / "node_modules" / peer.package));
  return is_installed &&
         std::system(("command -v " + peer.interpreter + " >/dev/null").c_str()) == 0;
}

const std::vector<Peer>& peers_here() {
  static const std::vector<Peer> kHere = [] {
    std::vector<Peer> here;
    for (const Peer& peer : all_peers()) {
      if (is_here(peer)) {
        here.push_back(peer);
      } else {
        std::cerr << "left out: " << peer.name << ", which is not in " << kFolder.string()
                  << "; ./dev bench processes installs it\n";
      }
    }
    return here;
  }();
  return kHere;
}

std::vector<std::string> names_of(const std::vector<Peer>& peers) {
  std::vector<std::string> names;
  for (const Peer& peer : peers) names.push_back(peer.name);
  return names;
}

struct Answer {
  std::uint64_t items = 0;
  double seconds = 0;
  double p50_us = 0;
  double p99_us = 0;
};

Answer ask(const Peer& peer, const std::string& question) {
  const std::string command = "cd '" + kFolder.string() + "' && " + peer.interpreter + ' ' +
                              peer.script + ' ' + question + ' ' + peer.kind;
  const std::string line = output_of(command);
  Answer answer;
  if (std::sscanf(line.c_str(), R"({"items":%lu,"seconds":%lf,"p50_us":%lf,"p99_us":%lf})",
                  &answer.items, &answer.seconds, &answer.p50_us, &answer.p99_us) != 4) {
    throw std::runtime_error("a peer says \"" + line + "\", asked by " + command);
  }
  return answer;
}

}  // namespace

std::vector<std::string> all_peer_names() {
  return names_of(all_peers());
}

std::vector<std::string> peer_names() {
  return names_of(peers_here());
}

std::vector<Contender> peers_that_flood() {
  std::vector<Contender> contenders;
  for (const Peer& peer : peers_here()) {
    contenders.push_back({peer.name, [peer](std::uint64_t tasks) -> Sample {
                            const Answer answer =
                                ask(peer, "empty " + std::to_string(tasks) + " 0");
                            return {.items = answer.items, .seconds = answer.seconds};
                          }});
  }
  return contenders;
}

std::vector<Contender> peers_that_travel(std::chrono::microseconds silence) {
  const std::string silence_us = ' ' + std::to_string(silence.count());
  std::vector<Contender> contenders;
  for (const Peer& peer : peers_here()) {
    const auto run = [peer, silence_us](std::uint64_t trips) -> Sample {
      const Answer answer = ask(peer, "round-trip " + std::to_string(trips) + silence_us);
      return {.items = answer.items,
              .seconds = answer.seconds,
              .figures = {answer.p50_us, answer.p99_us}};
    };
    contenders.push_back({peer.name, run});
  }
  return contenders;
}

}  // namespace muster::bench
