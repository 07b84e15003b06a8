// isolation.cpp: orders and reports as JSON, and the pool of processes between them.
#include "jobs/isolation.hpp"

#include <boost/json.hpp>

#include "jobs/stores/store_time.hpp"
#include "jobs/thrown.hpp"

namespace muster {
namespace {

namespace json = boost::json;

template <class T>
void put(json::object& object, std::string_view name, const std::optional<T>& value) {
  if (value) object.emplace(name, *value);
}

void put(json::object& object, std::string_view name, const std::optional<Duration>& value) {
  if (value) object.emplace(name, value->count());
}

std::optional<std::string> text(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  return found == nullptr ? std::nullopt : std::optional(json::value_to<std::string>(*found));
}

std::string word(const json::object& object, std::string_view name) {
  return text(object, name).value_or("");
}

std::optional<std::int64_t> number(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  return found == nullptr ? std::nullopt : std::optional(found->to_number<std::int64_t>());
}

template <class T>
T figure(const json::object& object, std::string_view name) {
  return static_cast<T>(number(object, name).value_or(0));
}

std::optional<Duration> duration(const json::object& object, std::string_view name) {
  const std::optional<std::int64_t> count = number(object, name);
  return count ? std::optional(Duration(*count)) : std::nullopt;
}

json::object object_of(const std::string& pool, const EncodedJob& job) {
  json::object object{
      {"pool", pool}, {"id", job.id}, {"event", job.event}, {"priority", job.priority}};
  put(object, "key", job.partition_key);
  if (job.run_at) object.emplace("run_at", as_number(*job.run_at));
  put(object, "delay", job.delay);
  put(object, "unique_for", job.unique_for);
  return object;
}

std::pair<std::string, EncodedJob> job_of(const json::object& object) {
  EncodedJob job{.id = word(object, "id"),
                 .event = word(object, "event"),
                 .partition_key = text(object, "key"),
                 .priority = figure<int>(object, "priority"),
                 .delay = duration(object, "delay"),
                 .unique_for = duration(object, "unique_for")};
  if (const auto run_at = number(object, "run_at")) job.run_at = as_time(*run_at);
  return {word(object, "pool"), std::move(job)};
}

// A job is tried again by its own rules, not by those of the processes.
ExecOptions exec_options(std::optional<Duration> timeout) {
  return {.timeout = timeout,
          .retry = RetryOptions{.max_attempts = 1},
          .idempotent = false,
          .killable = true,
          .told_first = true};
}

JobReport failed(FailureKind kind, std::string what) {
  return {.outcome = {.failure = kind, .what = std::move(what)}};
}

}  // namespace

std::string encode_job_order(const JobOrder& order) {
  json::object object{{"pool", order.pool},
                      {"id", order.id},
                      {"event", order.event},
                      {"attempt", order.attempt},
                      {"enqueued_at", as_number(order.enqueued_at)},
                      {"started_at", as_number(order.started_at)},
                      {"instance", order.instance},
                      {"processed", order.processed},
                      {"pending", order.pending},
                      {"board", order.board},
                      {"place", order.place}};
  put(object, "key", order.key);
  return json::serialize(object);
}

JobOrder decode_job_order(std::string_view text_of_it) {
  const json::value value = json::parse(text_of_it);
  const json::object& object = value.as_object();
  return {.pool = word(object, "pool"),
          .id = word(object, "id"),
          .event = word(object, "event"),
          .key = text(object, "key"),
          .attempt = figure<unsigned>(object, "attempt"),
          .enqueued_at = as_time(figure<std::int64_t>(object, "enqueued_at")),
          .started_at = as_time(figure<std::int64_t>(object, "started_at")),
          .instance = figure<std::uint32_t>(object, "instance"),
          .processed = figure<std::uint64_t>(object, "processed"),
          .pending = figure<std::uint64_t>(object, "pending"),
          .board = word(object, "board"),
          .place = figure<std::uint32_t>(object, "place")};
}

std::string encode_job_report(const JobReport& report) {
  json::object object{{"log", report.log}};
  if (report.outcome.failure) {
    object.emplace("error", report.outcome.what);
    object.emplace("retryable", report.outcome.is_retryable);
  }
  put(object, "result", report.result);
  json::array enqueued;
  for (const auto& [pool, job] : report.enqueued) enqueued.push_back(object_of(pool, job));
  object.emplace("enqueued", std::move(enqueued));
  return json::serialize(object);
}

JobReport decode_job_report(std::string_view text_of_it) {
  const json::value value = json::parse(text_of_it);
  const json::object& object = value.as_object();
  JobReport report{.result = text(object, "result"), .log = word(object, "log")};
  if (const auto error = text(object, "error")) {
    report.outcome = {.failure = FailureKind::error,
                      .what = *error,
                      .is_retryable = object.at("retryable").as_bool()};
  }
  for (const json::value& job : object.at("enqueued").as_array()) {
    report.enqueued.push_back(job_of(job.as_object()));
  }
  return report;
}

IsolatedHandlers::IsolatedHandlers(unsigned workers) : workers_({.workers = workers}) {}

JobReport IsolatedHandlers::run(const JobOrder& order, const Limits& limits) {
  try {
    Future<Bytes> future =
        workers_.exec(kJobTask, Bytes(encode_job_order(order)), exec_options(limits.timeout));
    {
      const auto cancel = [&future] { (void)future.cancel(); };
      const std::stop_callback tell(limits.stop, cancel);
      const std::stop_callback kill(limits.kill, cancel);
      future.wait();
    }
    return decode_job_report(future.get().text());
  } catch (const WorkerCrashed& crash) {
    return failed(FailureKind::crash, crash.what());
  } catch (const TimedOut& late) {
    return failed(FailureKind::timeout, late.what());
  } catch (const Cancelled& cancelled) {
    if (!limits.kill.stop_requested()) return failed(FailureKind::error, cancelled.what());
    return failed(FailureKind::crash, "it went on when it was to stop, and was killed");
  } catch (...) {  // could not be given to a worker, or its word cannot be read
    return failed(FailureKind::error, thrown_words());
  }
}

}  // namespace muster
