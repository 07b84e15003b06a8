// connection.hpp: one connection to PostgreSQL, and what goes over it.
//
//     Connection connection({.url = "postgresql://...", .timeout = 10s});
//     Rows rows = connection.run("SELECT name FROM t WHERE n = ANY($1)",
//     Parameters().add(numbers)); for (std::size_t row = 0; row < rows.size(); ++row)
//     use(rows.text(row, 0));
//
//     std::vector<Rows> answers = connection.run_all({{"BEGIN"}, {sql, parameters}, {"COMMIT"}});
//
// Every call ends within its timeout, whatever the network does: one that takes longer loses its
// connection. A connection that is lost is made anew by the next call; who has to know whether the
// last one still did its work asks the database.
//
// A session of our own keeps the plans of statements that come again, and how they are to be made.
// Behind a pooler each transaction may meet another session: then statements have no names, and
// nothing is set for longer than a transaction.
//
// Errors: DatabaseError, with PostgreSQL's code; ConnectionLost if nobody knows what happened.
//
// Thread safety: none; a connection belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/jobs/job_error.hpp>

extern "C" {
struct pg_conn;
struct pg_result;
}

namespace muster {

class DatabaseError : public StoreFailure {
 public:
  DatabaseError(const Words& words, std::string code)
      : StoreFailure(words), code_(std::make_shared<const std::string>(std::move(code))) {}
  DatabaseError(const DatabaseError&) = default;
  DatabaseError& operator=(const DatabaseError&) = default;
  ~DatabaseError() override;

  // Five characters, as the manual of PostgreSQL lists them.
  [[nodiscard]] const std::string& code() const noexcept { return *code_; }

 private:
  std::shared_ptr<const std::string> code_;
};

// It may have happened, or not.
class ConnectionLost : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
  ConnectionLost(const ConnectionLost&) = default;
  ConnectionLost& operator=(const ConnectionLost&) = default;
  ~ConnectionLost() override;
};

class Rows;

// Of one statement, in order.
class Parameters {
 public:
  Parameters& add(std::int64_t value) &;
  Parameters& add(std::string_view text) &;
  Parameters& add(const std::vector<std::int64_t>& numbers) &;
  Parameters& add(const std::vector<std::optional<std::int64_t>>& numbers) &;
  Parameters& add(const std::vector<std::string_view>& texts) &;
  Parameters& add(const std::vector<std::optional<std::string_view>>& texts) &;
  Parameters& add_or_null(const std::optional<std::string>& text) &;
  void append(const Parameters& others);
  template <class Value>
  Parameters&& add(const Value& value) && {
    return std::move(static_cast<Parameters&>(*this).add(value));
  }

 private:
  friend class Connection;
  friend Rows run_on(pg_conn* connection, std::string_view sql, const Parameters& parameters);

  // As libpq wants them. Valid as long as the parameters.
  struct Lists {
    std::vector<unsigned> types = {};
    std::vector<const char*> values = {};
    std::vector<int> lengths = {};
    std::vector<int> formats = {};
  };
  [[nodiscard]] Lists lists() const;

  struct Value {
    unsigned type;  // PostgreSQL's number of it
    std::string bytes;
    bool is_null = false;
  };
  std::vector<Value> values_;
};

class Rows {
 public:
  Rows() = default;
  explicit Rows(pg_result* result) noexcept : result_(result) {}  // takes it over

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool is_null(std::size_t row, int column) const noexcept;
  [[nodiscard]] std::int64_t integer(std::size_t row, int column) const;
  [[nodiscard]] bool boolean(std::size_t row, int column) const;
  [[nodiscard]] std::string_view text(std::size_t row, int column) const noexcept;
  [[nodiscard]] std::optional<std::string> optional_text(std::size_t row, int column) const;

  // That an UPDATE, INSERT or DELETE touched.
  [[nodiscard]] std::int64_t touched() const;

  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };

 private:
  std::unique_ptr<pg_result, Clear> result_;
};

// On a connection that is somebody else's, and in his transaction; waits for as long as he does.
Rows run_on(pg_conn* connection, std::string_view sql, const Parameters& parameters);

class Connection {
 public:
  struct Options {
    std::string url = {};
    Duration timeout = std::chrono::seconds(10);
  };
  struct Query {
    std::string_view sql;
    Parameters parameters = {};
  };

  // Does not connect yet.
  explicit Connection(Options options) : options_(std::move(options)) {}

  Rows run(std::string_view sql, const Parameters& parameters = {});

  // The same for what may be done twice: if the connection turns out to be lost, on a new one.
  Rows ask(std::string_view sql, const Parameters& parameters = {});

  // Sent at once, answered at once, and one transaction, unless they say BEGIN. If one of them
  // fails nothing was done; its error is thrown.
  std::vector<Rows> run_all(std::span<const Query> queries);

  // Waits until a NOTIFY comes, or `timeout` is over, or `descriptor` can be read. The texts of all
  // that came.
  std::vector<std::string> await_notices(Duration timeout, int descriptor);

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }

  // It is open, and no pooler stands in between.
  [[nodiscard]] bool is_direct() const noexcept { return is_open() && is_direct_; }

  // To be set in a transaction of a connection that is not direct. Rows are named by their keys:
  // never look through all that wait to find them, and compile nothing for that. What is committed
  // is synced.
  [[nodiscard]] static std::string settings(Duration timeout, bool is_local);

  // How often it was made.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  void close() noexcept { handle_.reset(); }

  // Without a password.
  [[nodiscard]] std::string place() const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };

  using Result = std::unique_ptr<pg_result, Rows::Clear>;

  // What an answer belongs to: a query, or the preparation of one.
  struct Sent {
    std::string prepared = {};  // its text; empty: it is a query
  };
  struct Statement {
    std::string name = {};
    bool is_prepared = false;
  };

  void open(Time deadline);
  void make_settings(Time deadline);
  std::vector<Rows> exchange(std::span<const Query> queries, Time deadline);
  void send(const Query& query, std::vector<Sent>& sent);
  void flush(Time deadline);
  void wait_for(short events, Time deadline);
  [[nodiscard]] Result next_result(Time deadline);
  std::vector<Rows> read_answers(const std::vector<Sent>& sent, Time deadline);
  [[noreturn]] void lose(const std::string& reason);

  Options options_;
  std::unique_ptr<pg_conn, Finish> handle_;
  std::uint64_t generation_ = 0;
  bool is_direct_ = false;
  std::map<std::string, Statement, std::less<>> statements_;  // of this session, by their texts
};

}  // namespace muster
