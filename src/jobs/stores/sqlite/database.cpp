// database.cpp: SQLite's calls, and its errors in our words.
#include "jobs/stores/sqlite/database.hpp"

#include <sqlite3.h>

#include <muster/base/assert.hpp>
#include <muster/jobs/job_error.hpp>

namespace muster {
namespace {

struct Meaning {
  const char* reason;
  const char* advice;
};

// Of a primary result code; null: SQLite's own words will do.
Meaning meaning_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return {"disk full", "free space and retry"};
    case SQLITE_READONLY:
      return {"it is read-only", "let this process write to the file and its folder"};
    case SQLITE_CANTOPEN:
      return {"it cannot be opened", "the folder must exist and be writable"};
    case SQLITE_NOTADB:
      return {"it is no SQLite database", "name another file; this one was not changed"};
    case SQLITE_CORRUPT:
      return {"it is corrupt", "restore it from a backup, or try sqlite3's .recover"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {"permission denied", "let this process write to the file and its folder"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {"another program has locked it", "only one process may use a store"};
    case SQLITE_IOERR:
      return {"the disk reports an error", "look at the system's log"};
    case SQLITE_TOOBIG:
      return {"a value is too large for SQLite", "keep events below a gigabyte"};
    case SQLITE_NOMEM:
      return {"out of memory", ""};
    default:
      return {nullptr, ""};
  }
}

constexpr int kBusyMilliseconds = 5000;

}  // namespace

Database::Database(const Place& place) : path_(place.path) {
  const int access =
      place.mode == Mode::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const char* const vfs = place.vfs.empty() ? nullptr : place.vfs.c_str();
  int code = sqlite3_open_v2(path_.c_str(), &handle_, access | SQLITE_OPEN_NOMUTEX, vfs);
  // What may not be written SQLite opens to be read.
  const bool is_written = code == SQLITE_OK && place.mode == Mode::write;
  if (is_written && sqlite3_db_readonly(handle_, "main") == 1) code = SQLITE_READONLY;
  if (code != SQLITE_OK) {
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closing(handle_, sqlite3_close);
    fail("open job store", code);
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyMilliseconds);
}

Database::~Database() {
  sqlite3_close(handle_);
}

void Database::fail(const std::string& attempt, int code) const {
  const Meaning meaning = meaning_of(code);
  const bool has_words = handle_ != nullptr && sqlite3_errcode(handle_) != SQLITE_OK;
  const std::string said = has_words ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const std::string reason =
      meaning.reason != nullptr ? std::string(meaning.reason) + " (" + said + ")" : said;
  throw StoreFailure(
      {.attempt = attempt + " \"" + path_ + "\"", .reason = reason, .advice = meaning.advice});
}

void Database::run(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail("change job store", code);
}

std::int64_t Database::number(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::word(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

// SQLite does without one rather than to fail: it only says what it does.
void Database::keep_log() {
  const std::string kept = word("PRAGMA journal_mode = WAL");
  if (kept == "wal") return;
  throw StoreFailure({.attempt = "open job store \"" + path_ + "\"",
                      .reason = "it has no write-ahead log there (its journal is \"" + kept + "\")",
                      .advice = "keep it on a local file system"});
}

std::int64_t Database::changes() const noexcept {
  return sqlite3_changes64(handle_);
}

bool Database::is_in_transaction() const noexcept {
  return sqlite3_get_autocommit(handle_) == 0;
}

WriteAheadLog::WriteAheadLog(const Database& database, int long_pages)
    : connection_(database.handle()), long_pages_(long_pages) {
  void* const place = static_cast<void*>(&file_);
  const int code = sqlite3_file_control(connection_, "main", SQLITE_FCNTL_JOURNAL_POINTER, place);
  if (code != SQLITE_OK) database.fail("open job store", code);
  MUSTER_ASSERT(file_ != nullptr && file_->pMethods != nullptr);
  const auto note = [](void* pages, sqlite3* /*connection*/, const char* /*name*/, int now) {
    *static_cast<int*>(pages) = now;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(connection_, note, &pages_);  // instead of the one that copies and hides errors
}

bool WriteAheadLog::sync() const noexcept {
  return file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

bool WriteAheadLog::is_long() const noexcept {
  return pages_ >= long_pages_;
}

// Whatever else is in the way may be gone the next time.
bool WriteAheadLog::copy() noexcept {
  const int code =
      sqlite3_wal_checkpoint_v2(connection_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_DIR_FSYNC;
}

void WriteAheadLog::leave_as_it_is() noexcept {
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  check(code, "use job store");
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

void Statement::check(int code, const char* attempt) const {
  if (code != SQLITE_OK) database_.fail(attempt, code);
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_, parameter, value), "use job store");
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  check(sqlite3_bind_text64(statement_, parameter, text.data() != nullptr ? text.data() : "",
                            text.size(), SQLITE_STATIC, SQLITE_UTF8),
        "use job store");
  return *this;
}

Statement& Statement::bind(int parameter, std::optional<std::string_view> text) {
  if (text) return bind(parameter, std::string_view(*text));
  check(sqlite3_bind_null(statement_, parameter), "use job store");
  return *this;
}

void Statement::run() {
  const int code = sqlite3_step(statement_);
  sqlite3_reset(statement_);
  if (code != SQLITE_DONE && code != SQLITE_ROW) database_.fail("change job store", code);
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(statement_);
  if (code != SQLITE_DONE) database_.fail("read job store", code);
  return false;
}

void Statement::reset() noexcept {
  sqlite3_reset(statement_);
}

std::int64_t Statement::integer(int column) const noexcept {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* const text = sqlite3_column_text(statement_, column);
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text), bytes(column));
}

std::size_t Statement::bytes(int column) const noexcept {
  return static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
}

std::optional<std::string> Statement::optional_text(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return text(column);
}

}  // namespace muster
