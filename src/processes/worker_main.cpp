// worker_main.cpp: how a process becomes a worker.
#include <cstdlib>
#include <exception>
#include <string>
#include <unistd.h>

#include <muster/processes/spawner.hpp>
#include <muster/worker_main.hpp>

#include "processes/worker_process.hpp"

namespace muster {

void worker_main(int argc, char** argv, const Registry& registry) {
  (void)argc;
  (void)argv;
  spawner_main();
  if (getenv(kWorkerVariable) == nullptr) return;
  (void)unsetenv(kWorkerVariable);  // what it starts itself is no worker
  int code = EXIT_FAILURE;
  try {
    code = WorkerProcess(registry).run();
  } catch (const std::exception& error) {
    const std::string text = std::string("muster: the worker ends: ") + error.what() + '\n';
    (void)!write(STDERR_FILENO, text.data(), text.size());
  }
  std::exit(code);
}

}  // namespace muster
