// batch_queries.hpp: the statements by which a batch of changes gets into PostgreSQL.
//
// A builder: each step adds statements, take_answers() puts what they say where the batch wants it.
// What is not the batch's to do (its node was given up since) is left out, and says it was not
// done.
//
// Thread safety: none. Lifetime: the batch outlives it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/store.hpp"
#include "jobs/stores/postgresql/connection.hpp"

namespace muster {

struct QuickStatement;

class BatchQueries {
 public:
  using Query = Connection::Query;

  // Careful: ids of new jobs that are taken, and jobs that are not available any more, are left
  // out. Quick: one of them lets the whole transaction fail, with one of these codes.
  enum class Way { quick, careful };
  static constexpr std::string_view kIdTaken = "23505";
  static constexpr std::string_view kNotAvailable = "MU002";

  // Its node is held to be dead, and others have its jobs.
  static constexpr std::string_view kGivenUp = "MU001";

  // Whether this session has seen since when the server lives, on which depends which numbers may
  // be given out. It does so when it reserves the first ones.
  enum class Session { is_new, knows_life };

  // Who commits, and its how-manieth batch it is.
  struct Author {
    NodeNumber node = 0;
    std::int64_t batch = 0;
  };
  BatchQueries(StoreBatch& batch, Author author, Way way = Way::careful,
               Session session = Session::is_new);

  // What is sent at once is a transaction by itself. `settings`: empty, or to be made for it.
  void begin(Durability durability, const std::string& settings, Query go_on);
  void settle();

  // Whether insert() has to know first which were settled.
  [[nodiscard]] bool needs_answers() const;

  void judge();
  void insert();
  void pause();

  // Who listens is told that there is something new.
  enum class Others { may_listen, none };
  void commit(Others others);

  // Instead of all of these: of a batch that was committed as `xid`.
  void ask_what_happened(const std::string& xid);

  [[nodiscard]] const std::vector<Query>& queries() const noexcept { return queries_; }
  void take_answers(const std::vector<Rows>& answers) const;
  void clear();

 private:
  using Take = std::function<void(const Rows&)>;
  using Job = std::pair<const NewJob*, Inserted*>;

  void add(std::string_view sql, Parameters parameters = {}, Take take = {});

  using QuickTake = std::function<void(const Rows&, int first_column)>;
  void add_quick(const QuickStatement& statement, Parameters parameters, QuickTake take);
  void go_on();
  using Places = std::vector<std::size_t>;

  void settle_some(const Places& places);
  void complete(const Places& places);
  void complete_carefully(const Places& places);
  void end(const Places& places);
  void retry(const Places& places);
  [[nodiscard]] Take settled_at(const Places& places);
  void note_failures();
  void forgive_interrupted();
  void ask_what_was_settled();
  void spread_pause(PoolNumber pool);
  void make_room(const std::vector<Job>& jobs);
  void insert_one(const Job& job);
  [[nodiscard]] std::vector<Job> jobs_to_insert() const;
  [[nodiscard]] bool is_ours(const Settlement& settlement) const noexcept {
    return settlement.holder == author_.node;
  }

  StoreBatch& batch_;
  const Author author_;
  const Way way_;
  const Session session_;
  std::string settings_;
  std::optional<Query> go_on_;  // not said yet
  std::vector<Query> queries_;
  std::vector<Take> takes_;
};

}  // namespace muster
