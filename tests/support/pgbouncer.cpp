// pgbouncer.cpp: how the tests configure, start and end PgBouncer.
#include "support/pgbouncer.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <libpq-fe.h>
#include <stdexcept>

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;
constexpr const char* kProgram = "/usr/sbin/pgbouncer";

}  // namespace

PgBouncer::PgBouncer(int server_port, const std::vector<std::string>& settings) {
  if (!std::filesystem::exists(kProgram)) {
    throw std::runtime_error("cannot find /usr/sbin/pgbouncer; install the package pgbouncer");
  }
  const std::string file = folder_.file("pgbouncer.ini");
  std::ofstream out(file);
  out << "[databases]\n"
      << "* = host=127.0.0.1 port=" << server_port << " user=postgres\n"
      << "[pgbouncer]\n"
      << "listen_addr = 127.0.0.1\n"
      << "listen_port = " << port() << "\n"
      << "unix_socket_dir =\n"
      << "auth_type = any\n"
      << "pool_mode = transaction\n"
      << "server_login_retry = 0.1\n";  // seconds; 15 would be long after a restart
  for (const std::string& setting : settings) out << setting << "\n";
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
  give_to_servers(folder_.path());
  give_to_servers(file);

  process_.emplace(ServerCommand{.arguments = {kProgram, file}, .log = folder_.file("log")});
  const Time deadline = std::chrono::steady_clock::now() + kPatience;
  while (PQping(url("pgbouncer").c_str()) != PQPING_OK) {  // its console needs no server
    const bool ended = process_->wait_until_ended(5ms);
    if (!ended && std::chrono::steady_clock::now() < deadline) continue;
    throw std::runtime_error("cannot start PgBouncer at " + url() + ": " + process_->report());
  }
}

PgBouncer::~PgBouncer() {
  process_->send(SIGTERM);  // at once, whoever is connected
  process_->wait_until_ended(kPatience);
}

std::string PgBouncer::url(std::string_view database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port()) + "/" + std::string(database);
}

}  // namespace muster::testing
