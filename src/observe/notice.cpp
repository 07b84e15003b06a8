// notice.cpp: notices in words.
#include <chrono>
#include <iomanip>
#include <locale>
#include <sstream>
#include <utility>

#include <muster/observe/notice.hpp>

namespace muster {
namespace {

std::string task_called(const std::string& name) {
  return name.empty() ? "a task" : "task \"" + name + '"';
}

void tell(std::ostream& out, const ScaledUp& news) {
  out << "scaled up by " << news.added << ", workers now " << news.total << ": " << news.reason;
}

void tell(std::ostream& out, const ScaledDown& news) {
  out << "scaled down by " << news.removed << ", workers now " << news.total << ": " << news.reason;
}

void tell(std::ostream& out, const TaskDropped& news) {
  out << task_called(news.name) << " was dropped: queue full, " << news.policy;
}

void tell(std::ostream& out, const BackPressureOn& news) {
  out << "back-pressure on: " << news.queued << " queued, limit " << news.limit;
}

void tell(std::ostream& out, const BackPressureOff& news) {
  out << "back-pressure off: " << news.queued << " queued, limit " << news.limit;
}

void tell(std::ostream& out, const WorkerAdded& news) {
  out << "worker " << news.worker << " added";
}

void tell(std::ostream& out, const WorkerRemoved& news) {
  out << "worker " << news.worker << " removed";
}

void tell(std::ostream& out, const StrategyChanged& news) {
  out << "strategy changed from " << news.from << " to " << news.to;
}

void tell(std::ostream& out, const TaskFailed& news) {
  out << task_called(news.name) << " failed: " << news.what;
}

std::string in_seconds(Duration duration) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::chrono::duration<double>(duration).count() << " s";
  return out.str();
}

void tell(std::ostream& out, const HeartbeatMissed& news) {
  out << "worker " << news.worker << " gave no sign of life for " << in_seconds(news.silence);
}

void tell(std::ostream& out, const ZombieFound& news) {
  out << "worker " << news.worker << " is a zombie, silent for " << in_seconds(news.silence);
}

void tell(std::ostream& out, const WorkerDied& news) {
  out << "worker " << news.worker << " died: " << news.how;
}

void tell(std::ostream& out, const CrashLoop& news) {
  out << "workers die too often; none is started for " << in_seconds(news.pause);
}

void tell(std::ostream& out, const WorkerRecycled& news) {
  out << "worker " << news.worker << " is replaced: " << news.reason;
}

void tell(std::ostream& out, const DeadLettered& news) {
  out << task_called(news.name) << " (" << news.id << ") is given up after " << news.attempts
      << (news.attempts == 1 ? " attempt: " : " attempts: ") << news.what;
}

void tell(std::ostream& out, const HotPartition& news) {
  out << "partition \"" << news.key << "\" has " << news.waiting
      << " jobs, more than half of those that wait for " << news.instance;
}

}  // namespace

std::string to_text(const Notice& notice) {
  const Duration since_epoch = notice.time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << '[' << seconds.count() << '.' << std::setfill('0') << std::setw(9)
      << (since_epoch - seconds).count() << "] #" << notice.sequence << ' ';
  std::visit([&](const auto& news) { tell(out, news); }, notice.news);
  return std::move(out).str();
}

}  // namespace muster
