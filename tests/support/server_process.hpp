// server_process.hpp: a program that serves a test and dies with it.
//
//     ServerProcess server({.arguments = {"/usr/sbin/pgbouncer", "pool.ini"}, .log = "pool.log"});
//     server.send(SIGTERM);
//     if (!server.wait_until_ended(10s)) server.kill_with_children();
//
// Has a session, a user and few descriptors of its own: a test that is root runs it as "postgres",
// since neither PostgreSQL nor PgBouncer agrees to be root. When the test's process is gone, by
// kill -9 or otherwise, the kernel sends it a signal. It would do so for the thread that started
// the program, too, so each has a thread for itself that starts it and waits for its end.
//
// Thread safety: any thread may do anything.
// Lifetime: the destructor kills what still runs, and waits for its end.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/sync/mutex.hpp>

namespace muster::testing {

struct ServerCommand {
  // The first one is the program's path.
  std::vector<std::string> arguments;

  // Gets its standard output and error, after what is there.
  std::filesystem::path log;

  // What it gets when the test's process dies.
  int signal_when_orphaned = SIGKILL;
};

class ServerProcess {
 public:
  // Throws if there is no such program, or no such user.
  explicit ServerProcess(ServerCommand command);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  [[nodiscard]] pid_t id() const MUSTER_EXCLUDES(mutex_);

  // Does nothing once it has ended.
  void send(int signal) MUSTER_EXCLUDES(mutex_);

  // False if it still runs after that time.
  bool wait_until_ended(Duration at_most) MUSTER_EXCLUDES(mutex_);

  // By SIGKILL, all at one moment; returns when none of them is left.
  void kill_with_children() MUSTER_EXCLUDES(mutex_);

  [[nodiscard]] bool succeeded() const MUSTER_EXCLUDES(mutex_);

  // For people: what was run, what became of it, and the end of its log.
  [[nodiscard]] std::string report() const MUSTER_EXCLUDES(mutex_);

 private:
  struct Launch;
  void run(const Launch& launch) MUSTER_EXCLUDES(mutex_);

  // Fixed at construction.
  const ServerCommand command_;
  std::thread thread_;

  // Guarded by mutex_.
  mutable Mutex mutex_;
  ConditionVariable changed_;
  pid_t id_ MUSTER_GUARDED_BY(mutex_) = 0;  // -1 if there was no process to be had
  bool ended_ MUSTER_GUARDED_BY(mutex_) = false;
  int status_ MUSTER_GUARDED_BY(mutex_) = 0;
};

// Makes the user whom servers run as the owner of `path`.
void give_to_servers(const std::filesystem::path& path);

}  // namespace muster::testing
