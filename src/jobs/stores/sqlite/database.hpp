// database.hpp: one connection to SQLite, and its statements.
//
//     Database database({.path = "jobs.db", .mode = Database::Mode::write});
//     Statement& insert = ...;
//     insert.bind(1, seq).bind(2, "text").run();
//     for (Reading rows(select); rows.next();) use(select.integer(0), select.text(1));
//
// Errors: StoreFailure, in words for people: disk full, read-only, not a database, corrupt.
//
// Thread safety: none; a connection belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_file;
struct sqlite3_stmt;

namespace muster {

class Database {
 public:
  enum class Mode { write, read };
  struct Place {
    std::string path = {};
    Mode mode = Mode::write;
    std::string vfs = {};  // empty: SQLite's own
  };

  explicit Database(const Place& place);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Statements without results or parameters, several with semicolons between them.
  void run(const std::string& sql);

  // The first column of the first row.
  [[nodiscard]] std::int64_t number(const std::string& sql);
  [[nodiscard]] std::string word(const std::string& sql);

  // From now on what is written goes to a log first. Throws StoreFailure also if there cannot be
  // one where the file is.
  void keep_log();

  // Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const noexcept;

  // Some errors end a transaction by themselves.
  [[nodiscard]] bool is_in_transaction() const noexcept;

  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Throws what `code` means, for what was attempted.
  [[noreturn]] void fail(const std::string& attempt, int code) const;

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

// What a connection in WAL mode writes to, once it has written. It is not copied to the database by
// itself any more. Goes before the connection.
class WriteAheadLog {
 public:
  WriteAheadLog(const Database& database, int long_pages);
  WriteAheadLog(const WriteAheadLog&) = delete;
  WriteAheadLog& operator=(const WriteAheadLog&) = delete;

  // By any thread, also while another uses the connection. False: the disk has failed.
  [[nodiscard]] bool sync() const noexcept;

  // By whoever uses the connection. Whether it should be copied to the database, and that: as much
  // as nobody reads; the next commit begins anew if it was all. False: the disk has failed to sync.
  [[nodiscard]] bool is_long() const noexcept;
  [[nodiscard]] bool copy() noexcept;

  // Nor is it copied when the connection is closed.
  void leave_as_it_is() noexcept;

 private:
  sqlite3* const connection_;
  const int long_pages_;
  sqlite3_file* file_ = nullptr;
  int pages_ = 0;
};

// Compiled once, run often.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters count from 1. What a text views must stay until the statement has run.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, std::optional<std::string_view> text);

  // Without results. Can be bound anew afterwards.
  void run();

  // True: there is a row, to be read by the calls below.
  [[nodiscard]] bool step();
  void reset() noexcept;

  // Columns count from 0.
  [[nodiscard]] std::int64_t integer(int column) const noexcept;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::size_t bytes(int column) const noexcept;  // of a text
  [[nodiscard]] std::optional<std::string> optional_text(int column) const;

 private:
  void check(int code, const char* attempt) const;

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Resets a statement when it has been read, however that ends.
class Reading {
 public:
  explicit Reading(Statement& statement) noexcept : statement_(statement) {}
  ~Reading() { statement_.reset(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  [[nodiscard]] bool next() { return statement_.step(); }

 private:
  Statement& statement_;
};

}  // namespace muster
