// connection.cpp: libpq, without ever waiting for longer than was said.
#include "jobs/stores/postgresql/connection.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <endian.h>
#include <libpq-fe.h>
#include <poll.h>
#include <utility>

namespace muster {
namespace {

// Of PostgreSQL's catalog; they never change.
constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;
constexpr Oid kInt8Array = 1016;
constexpr Oid kTextArray = 1009;

constexpr int kBinary = 1;

template <class Bits>
void put(std::string& bytes, Bits big_endian) {
  std::array<char, sizeof(Bits)> raw{};
  std::memcpy(raw.data(), &big_endian, raw.size());
  bytes.append(raw.data(), raw.size());
}

void put32(std::string& bytes, std::uint32_t value) {
  put(bytes, htobe32(value));
}

void put64(std::string& bytes, std::int64_t value) {
  put(bytes, htobe64(static_cast<std::uint64_t>(value)));
}

void put_head(std::string& bytes, Oid element, std::size_t size) {
  put32(bytes, size == 0 ? 0 : 1);  // dimensions
  put32(bytes, 1);                  // may have nulls
  put32(bytes, element);
  if (size == 0) return;
  put32(bytes, static_cast<std::uint32_t>(size));
  put32(bytes, 1);  // counts from
}

void put_element(std::string& bytes, std::int64_t number) {
  put32(bytes, sizeof(number));
  put64(bytes, number);
}

void put_element(std::string& bytes, std::string_view text) {
  put32(bytes, static_cast<std::uint32_t>(text.size()));
  bytes.append(text);
}

template <class Element>
void put_element(std::string& bytes, const std::optional<Element>& element) {
  if (element) {
    put_element(bytes, *element);
  } else {
    put32(bytes, UINT32_MAX);
  }
}

std::size_t size_of(std::int64_t /*number*/) {
  return sizeof(std::int64_t);
}

std::size_t size_of(std::string_view text) {
  return text.size();
}

template <class Element>
std::size_t size_of(const std::optional<Element>& element) {
  return element ? size_of(*element) : 0;
}

template <class Elements>
std::string array_of(Oid element, const Elements& elements) {
  constexpr std::size_t kHead = 20;
  std::size_t size = kHead;
  for (const auto& each : elements) size += sizeof(std::uint32_t) + size_of(each);
  std::string bytes;
  bytes.reserve(size);
  put_head(bytes, element, elements.size());
  for (const auto& each : elements) put_element(bytes, each);
  return bytes;
}

// A table was changed since a statement was prepared, or the session has forgotten it.
bool is_about_plans(std::string_view code) {
  return code == "0A000" || code == "26000";
}

int milliseconds_until(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - real_clock().now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

std::string first_line(const char* message) {
  std::string text = message == nullptr ? "" : message;
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.resize(end);
  const std::string_view error = "ERROR:  ";
  return text.starts_with(error) ? text.substr(error.size()) : text;
}

}  // namespace

DatabaseError::~DatabaseError() = default;
ConnectionLost::~ConnectionLost() = default;

Parameters& Parameters::add(std::int64_t value) & {
  std::string bytes;
  put64(bytes, value);
  values_.push_back({kInt8, std::move(bytes)});
  return *this;
}

Parameters& Parameters::add(std::string_view text) & {
  values_.push_back({kText, std::string(text)});
  return *this;
}

Parameters& Parameters::add(const std::vector<std::int64_t>& numbers) & {
  values_.push_back({kInt8Array, array_of(kInt8, numbers)});
  return *this;
}

Parameters& Parameters::add(const std::vector<std::optional<std::int64_t>>& numbers) & {
  values_.push_back({kInt8Array, array_of(kInt8, numbers)});
  return *this;
}

Parameters& Parameters::add(const std::vector<std::string_view>& texts) & {
  values_.push_back({kTextArray, array_of(kText, texts)});
  return *this;
}

Parameters& Parameters::add(const std::vector<std::optional<std::string_view>>& texts) & {
  values_.push_back({kTextArray, array_of(kText, texts)});
  return *this;
}

Parameters& Parameters::add_or_null(const std::optional<std::string>& text) & {
  values_.push_back({kText, text.value_or(""), !text});
  return *this;
}

void Parameters::append(const Parameters& others) {
  values_.insert(values_.end(), others.values_.begin(), others.values_.end());
}

Parameters::Lists Parameters::lists() const {
  Lists lists;
  for (const Value& value : values_) {
    lists.types.push_back(value.type);
    lists.values.push_back(value.is_null ? nullptr : value.bytes.data());
    lists.lengths.push_back(static_cast<int>(value.bytes.size()));
    lists.formats.push_back(kBinary);
  }
  return lists;
}

Rows run_on(pg_conn* connection, std::string_view sql, const Parameters& parameters) {
  const Parameters::Lists lists = parameters.lists();
  const std::string text(sql);
  std::unique_ptr<pg_result, Rows::Clear> result(PQexecParams(
      connection, text.c_str(), static_cast<int>(lists.types.size()), lists.types.data(),
      lists.values.data(), lists.lengths.data(), lists.formats.data(), 0));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    const char* const code = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    throw DatabaseError({.attempt = "enqueue on the given connection",
                         .reason = first_line(PQerrorMessage(connection))},
                        code == nullptr ? "08006" : code);
  }
  return Rows(result.release());
}

void Rows::Clear::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

std::size_t Rows::size() const noexcept {
  return static_cast<std::size_t>(PQntuples(result_.get()));
}

bool Rows::is_null(std::size_t row, int column) const noexcept {
  return PQgetisnull(result_.get(), static_cast<int>(row), column) != 0;
}

std::int64_t Rows::integer(std::size_t row, int column) const {
  const std::string_view word = text(row, column);
  std::int64_t number = 0;
  (void)std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

bool Rows::boolean(std::size_t row, int column) const {
  return text(row, column) == "t";
}

std::string_view Rows::text(std::size_t row, int column) const noexcept {
  const int at = static_cast<int>(row);
  return {PQgetvalue(result_.get(), at, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), at, column))};
}

std::optional<std::string> Rows::optional_text(std::size_t row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return std::string(text(row, column));
}

std::int64_t Rows::touched() const {
  const std::string_view word = PQcmdTuples(result_.get());
  std::int64_t number = 0;
  (void)std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

void Connection::Finish::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

std::string Connection::place() const {
  char* problem = nullptr;
  PQconninfoOption* const options = PQconninfoParse(options_.url.c_str(), &problem);
  if (problem != nullptr) PQfreemem(problem);
  std::string host;
  std::string database;
  for (const PQconninfoOption* each = options; each != nullptr && each->keyword != nullptr;
       ++each) {
    if (each->val == nullptr) continue;
    if (std::string_view(each->keyword) == "host") host = each->val;
    if (std::string_view(each->keyword) == "port") host += std::string(":") + each->val;
    if (std::string_view(each->keyword) == "dbname") database = each->val;
  }
  if (options != nullptr) PQconninfoFree(options);
  return "postgresql://" + host + "/" + database;
}

// The URL is wrong, or the server is not there, or does not let us in.
void Connection::open(Time deadline) {
  handle_.reset(PQconnectStart(options_.url.c_str()));
  if (handle_ == nullptr) throw std::bad_alloc();
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (PQstatus(handle_.get()) != CONNECTION_BAD && status != PGRES_POLLING_OK) {
    wait_for(status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline);
    status = PQconnectPoll(handle_.get());
    if (status == PGRES_POLLING_FAILED) break;
  }
  if (PQstatus(handle_.get()) != CONNECTION_OK) lose(first_line(PQerrorMessage(handle_.get())));
  ++generation_;
  PQsetnonblocking(handle_.get(), 1);
  PQsetNoticeProcessor(handle_.get(), [](void* /*nothing*/, const char* /*text*/) {}, nullptr);
  make_settings(deadline);
}

// A pooler says a number of its own when it is asked for the session's.
void Connection::make_settings(Time deadline) {
  is_direct_ = false;
  statements_.clear();
  const std::array who{Query{"SELECT pg_backend_pid()"}};
  is_direct_ = exchange(who, deadline).front().integer(0, 0) == PQbackendPID(handle_.get());
  if (!is_direct_) return;
  const std::string sql = settings(options_.timeout, false);
  const std::array session{Query{sql}, Query{"SET plan_cache_mode = force_generic_plan"}};
  (void)exchange(session, deadline);
}

std::string Connection::settings(Duration timeout, bool is_local) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  std::string sql = "SELECT";
  const auto set = [&](const char* name, const std::string& value) {
    sql += sql.ends_with("SELECT") ? " " : ", ";
    sql += std::string("set_config('") + name + "', '" + value + "', " +
           (is_local ? "true" : "false") + ")";
  };
  set("statement_timeout", std::to_string(milliseconds));
  set("idle_in_transaction_session_timeout", std::to_string(milliseconds));
  for (const char* const name :
       {"jit", "enable_hashjoin", "enable_mergejoin", "enable_seqscan", "enable_bitmapscan"}) {
    set(name, "off");
  }
  // A commit that is not waited for is for the batch to choose. More than "on" stays.
  sql +=
      ", set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
      " WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, ";
  sql += is_local ? "true)" : "false)";
  return sql;
}

void Connection::lose(const std::string& reason) {
  handle_.reset();
  throw ConnectionLost({.attempt = "reach the job store at " + place(),
                        .reason = reason.empty() ? "the connection was closed" : reason,
                        .advice = "it is tried again"},
                       "08006");
}

void Connection::wait_for(short events, Time deadline) {
  pollfd wait{.fd = PQsocket(handle_.get()), .events = events, .revents = 0};
  const int ready = ::poll(&wait, 1, milliseconds_until(deadline));
  if (ready == 0 && real_clock().now() >= deadline) lose("it does not answer in time");
}

void Connection::flush(Time deadline) {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left < 0) lose(first_line(PQerrorMessage(handle_.get())));
    if (left == 0) return;
    // The server may wait until we have read.
    wait_for(POLLIN | POLLOUT, deadline);
    if (PQconsumeInput(handle_.get()) == 0) lose(first_line(PQerrorMessage(handle_.get())));
  }
}

// What comes a second time is prepared.
void Connection::send(const Query& query, std::vector<Sent>& sent) {
  const Parameters::Lists lists = query.parameters.lists();
  const int count = static_cast<int>(lists.types.size());
  pg_conn* const handle = handle_.get();
  const auto check = [this, handle](int is_sent) {
    if (is_sent == 0) lose(first_line(PQerrorMessage(handle)));
  };
  auto known = is_direct_ ? statements_.find(query.sql) : statements_.end();
  if (known == statements_.end()) {
    const std::string sql(query.sql);
    if (is_direct_) {
      statements_.emplace(sql, Statement{.name = "muster_" + std::to_string(statements_.size())});
    }
    check(PQsendQueryParams(handle, sql.c_str(), count, lists.types.data(), lists.values.data(),
                            lists.lengths.data(), lists.formats.data(), 0));
    sent.emplace_back();
    return;
  }
  const Statement& statement = known->second;
  const auto is_this = [&query](const Sent& each) { return each.prepared == query.sql; };
  if (!statement.is_prepared && std::ranges::none_of(sent, is_this)) {
    check(PQsendPrepare(handle, statement.name.c_str(), known->first.c_str(), count,
                        lists.types.data()));
    sent.push_back({.prepared = known->first});
  }
  check(PQsendQueryPrepared(handle, statement.name.c_str(), count, lists.values.data(),
                            lists.lengths.data(), lists.formats.data(), 0));
  sent.emplace_back();
}

// Null: the end of an answer.
Connection::Result Connection::next_result(Time deadline) {
  while (PQisBusy(handle_.get()) != 0) {
    wait_for(POLLIN, deadline);
    if (PQconsumeInput(handle_.get()) == 0) lose(first_line(PQerrorMessage(handle_.get())));
  }
  return Result(PQgetResult(handle_.get()));
}

// All of them, also behind an error, so that the connection can be used again.
std::vector<Rows> Connection::read_answers(const std::vector<Sent>& sent, Time deadline) {
  std::vector<Rows> answers;
  std::optional<DatabaseError> error;
  for (const Sent& each : sent) {
    Result result = next_result(deadline);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_FATAL_ERROR && !error) {
      const char* const code = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
      if (code == nullptr) lose(first_line(PQresultErrorMessage(result.get())));
      if (is_direct_ && is_about_plans(code)) lose("the plans it has are too old");
      error.emplace(StoreFailure::Words{.attempt = "use the job store at " + place(),
                                        .reason = first_line(PQresultErrorMessage(result.get()))},
                    code);
    }
    if (each.prepared.empty()) {
      answers.emplace_back(result.release());
    } else if (status == PGRES_COMMAND_OK) {
      statements_[each.prepared].is_prepared = true;
    }
    while (next_result(deadline) != nullptr) {
    }
  }
  if (PQresultStatus(next_result(deadline).get()) != PGRES_PIPELINE_SYNC) lose("out of step");
  // NOLINTNEXTLINE(misc-throw-by-value-catch-by-reference): it is thrown by value
  if (error) throw *error;
  return answers;
}

Rows Connection::run(std::string_view sql, const Parameters& parameters) {
  const std::array queries{Query{sql, parameters}};
  return std::move(run_all(queries).front());
}

Rows Connection::ask(std::string_view sql, const Parameters& parameters) {
  const bool was_open = is_open();
  const Time asked = real_clock().now();
  try {
    return run(sql, parameters);
  } catch (const ConnectionLost&) {
    // If it takes long to find out, that was all the time there is.
    if (!was_open || real_clock().now() - asked > options_.timeout / 2) throw;
    return run(sql, parameters);
  }
}

std::vector<Rows> Connection::run_all(std::span<const Query> queries) {
  const Time deadline = real_clock().now() + options_.timeout;
  if (handle_ == nullptr) open(deadline);
  return exchange(queries, deadline);
}

std::vector<Rows> Connection::exchange(std::span<const Query> queries, Time deadline) {
  pg_conn* const handle = handle_.get();
  if (PQenterPipelineMode(handle) == 0) lose(first_line(PQerrorMessage(handle)));
  std::vector<Sent> sent;
  for (const Query& query : queries) send(query, sent);
  if (PQpipelineSync(handle) == 0) lose(first_line(PQerrorMessage(handle)));
  flush(deadline);
  try {
    std::vector<Rows> answers = read_answers(sent, deadline);
    PQexitPipelineMode(handle);
    return answers;
  } catch (const ConnectionLost&) {
    throw;
  } catch (const DatabaseError&) {
    PQexitPipelineMode(handle);
    if (PQtransactionStatus(handle) != PQTRANS_IDLE) (void)run("ROLLBACK");
    throw;
  }
}

std::vector<std::string> Connection::await_notices(Duration timeout, int descriptor) {
  const Time deadline = real_clock().now() + std::min<Duration>(timeout, std::chrono::hours(1));
  std::vector<std::string> notices;
  for (;;) {
    if (handle_ != nullptr) {
      if (PQconsumeInput(handle_.get()) == 0) lose(first_line(PQerrorMessage(handle_.get())));
      while (PGnotify* const notice = PQnotifies(handle_.get())) {
        notices.emplace_back(notice->extra);
        PQfreemem(notice);
      }
    }
    if (!notices.empty() || real_clock().now() >= deadline) return notices;
    const int socket = handle_ == nullptr ? -1 : PQsocket(handle_.get());
    std::array<pollfd, 2> waits{pollfd{.fd = descriptor, .events = POLLIN, .revents = 0},
                                pollfd{.fd = socket, .events = POLLIN, .revents = 0}};
    (void)::poll(waits.data(), waits.size(), milliseconds_until(deadline));
    if (waits[0].revents != 0) return notices;
  }
}

}  // namespace muster
