// postgres_support_test.cpp: the servers and the network that other tests break on purpose.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <libpq-fe.h>
#include <memory>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/processes/file_descriptor.hpp>

#include "support/network_proxy.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_cluster.hpp"
#include "support/reserved_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 30s;     // never waited for unless a test fails
constexpr auto kShort = 200ms;  // how long we look on while nothing happens

class Client {
 public:
  explicit Client(const std::string& url) : connection_(PQconnectdb(url.c_str())) {}
  ~Client() { PQfinish(connection_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The first value of the answer, "" if there is none, or "error: ...".
  std::string ask(const std::string& query) {
    send(query);
    return answer();
  }

  void send(const std::string& query) { PQsendQuery(connection_, query.c_str()); }

  std::string answer() {
    std::string text;
    bool any = false;
    while (PGresult* const result = PQgetResult(connection_)) {
      const ExecStatusType status = PQresultStatus(result);
      if (status == PGRES_TUPLES_OK && PQntuples(result) > 0) text = PQgetvalue(result, 0, 0);
      if (status == PGRES_FATAL_ERROR) text = std::string("error: ") + PQresultErrorMessage(result);
      any = true;
      PQclear(result);
    }
    return any ? text : std::string("error: ") + PQerrorMessage(connection_);
  }

  // Whether anything comes from the server within that time.
  bool hears_within(std::chrono::milliseconds time) {
    pollfd watched{.fd = PQsocket(connection_), .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, static_cast<int>(time.count())) == 1;
  }

 private:
  PGconn* const connection_;
};

bool is_error(const std::string& answer) {
  return answer.starts_with("error: ");
}

std::string ask(const std::string& url, const std::string& query) {
  return Client(url).ask(query);
}

// A pidfd each for the server and all of its processes.
std::vector<FileDescriptor> processes_of(const std::string& url) {
  std::istringstream numbers(
      ask(url,
          "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) || ' ' || "
          "string_agg(pid::text, ' ') FROM pg_stat_activity WHERE pid <> pg_backend_pid()"));
  std::vector<FileDescriptor> processes;
  for (int number = 0; numbers >> number;) {
    processes.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, number, 0)));
    EXPECT_TRUE(processes.back());
  }
  return processes;
}

bool ends_within(const FileDescriptor& process, std::chrono::milliseconds time) {
  pollfd watched{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(time.count())) == 1;
}

TEST(PostgresCluster, AnswersAtItsUrl) {
  PostgresCluster cluster;
  EXPECT_EQ(cluster.url("x"),
            "postgresql://postgres@127.0.0.1:" + std::to_string(cluster.port()) + "/x");
  EXPECT_EQ(ask(cluster.url(), "SHOW port"), std::to_string(cluster.port()));
  EXPECT_EQ(ask(cluster.url(), "SHOW server_encoding"), "UTF8");
  EXPECT_EQ(ask(cluster.url(), "SHOW lc_collate"), "C");
  EXPECT_EQ(ask(cluster.url(), "SHOW fsync"), "on");
}

TEST(PostgresCluster, TakesSettings) {
  PostgresCluster cluster({.fsync = false, .settings = {"max_connections=7"}});
  EXPECT_EQ(ask(cluster.url(), "SHOW fsync"), "off");
  EXPECT_EQ(ask(cluster.url(), "SHOW max_connections"), "7");
}

TEST(PostgresCluster, SaysWhatTheServerSaidIfItDoesNotStart) {
  try {
    PostgresCluster cluster({.fsync = false, .settings = {"no_such_setting=1"}});
    FAIL() << "has started";
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("cannot start PostgreSQL"), std::string::npos) << text;
    EXPECT_NE(text.find("unrecognized configuration parameter \"no_such_setting\""),
              std::string::npos)
        << text;
  }
}

TEST(PostgresCluster, MakesAnotherDatabaseEachTime) {
  PostgresCluster cluster({.fsync = false});
  const std::string one = cluster.create_database();
  const std::string other = cluster.create_database();
  EXPECT_NE(one, other);
  EXPECT_EQ(ask(one, "CREATE TABLE rows (number int)"), "");
  EXPECT_TRUE(is_error(ask(other, "SELECT * FROM rows")));
  EXPECT_EQ(ask(one, "SHOW server_encoding"), "UTF8");
}

TEST(PostgresCluster, KeepsOnlyWhatIsCommittedWhenItIsKilled) {
  PostgresCluster cluster;
  const std::string url = cluster.create_database();
  EXPECT_EQ(ask(url, "CREATE TABLE rows (number int)"), "");
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(ask(url, "INSERT INTO rows VALUES (1)"), "");
    Client undecided(url);
    EXPECT_EQ(undecided.ask("BEGIN; INSERT INTO rows VALUES (2)"), "");
    Client busy(url);  // looks up from its work for nobody
    busy.send("DO 'BEGIN LOOP END LOOP; END'");
    const std::vector<FileDescriptor> processes = processes_of(url);

    cluster.kill_server();

    for (const FileDescriptor& process : processes) EXPECT_TRUE(ends_within(process, 0ms));
    EXPECT_TRUE(is_error(busy.answer()));
    EXPECT_TRUE(is_error(ask(url, "SELECT 1")));
    cluster.start();
    EXPECT_EQ(ask(url, "SELECT count(*) || ' ' || sum(number) FROM rows"),
              std::to_string(round) + " " + std::to_string(round));
  }
}

TEST(PostgresCluster, StartsAgainAfterAnImmediateStop) {
  PostgresCluster cluster;
  const std::string url = cluster.create_database();
  EXPECT_EQ(ask(url, "CREATE TABLE rows (number int)"), "");
  const std::vector<FileDescriptor> processes = processes_of(url);
  cluster.stop_immediately();
  for (const FileDescriptor& process : processes) EXPECT_TRUE(ends_within(process, 0ms));
  cluster.start();
  EXPECT_EQ(ask(url, "SELECT count(*) FROM rows"), "0");
}

TEST(PostgresCluster, LeavesNothingBehindEvenIfItWasKilled) {
  for (const bool killed : {false, true}) {
    std::vector<FileDescriptor> processes;
    std::string folder;
    {
      PostgresCluster cluster({.fsync = false});
      processes = processes_of(cluster.url());
      folder = ask(cluster.url(), "SHOW unix_socket_directories");
      EXPECT_TRUE(std::filesystem::exists(folder));
      if (killed) cluster.kill_server();
    }
    for (const FileDescriptor& process : processes) EXPECT_TRUE(ends_within(process, 0ms));
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

// A thread that started the server may end; a process may not.
TEST(PostgresCluster, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<PostgresCluster> cluster;
  std::thread([&cluster] {
    cluster = std::make_unique<PostgresCluster>(PostgresOptions{.fsync = false});
  }).join();
  EXPECT_EQ(ask(cluster->url(), "SELECT 1"), "1");
}

TEST(PostgresCluster, DiesWithItsProcessAndSoDoesTheBouncer) {
  const TemporaryFolder folder;  // for what it leaves
  give_to_servers(folder.path());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    PostgresCluster cluster({.fsync = false});
    PgBouncer bouncer(cluster.port());
    const std::string urls = cluster.url() + "\n" + bouncer.url();
    if (::write(ends[1], urls.data(), urls.size()) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  char buffer[256];
  const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
  ASSERT_GT(count, 0);
  const std::string urls(buffer, static_cast<std::size_t>(count));
  const std::string direct = urls.substr(0, urls.find('\n'));
  const std::string bounced = urls.substr(urls.find('\n') + 1);
  const std::vector<FileDescriptor> processes = processes_of(direct);
  EXPECT_GE(processes.size(), 5U);
  Client at_the_bouncer(bounced);
  EXPECT_EQ(at_the_bouncer.ask("SELECT 1"), "1");

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);

  for (const FileDescriptor& process : processes) EXPECT_TRUE(ends_within(process, kLong));
  EXPECT_TRUE(at_the_bouncer.hears_within(kLong));
  EXPECT_TRUE(is_error(at_the_bouncer.ask("SELECT 1")));
  ::close(ends[0]);
  ::close(ends[1]);
}

// One server for all tests of what stands in front of it.
class BetweenTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<PostgresCluster>(PostgresOptions{.fsync = false});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  static inline std::unique_ptr<PostgresCluster> cluster_;
};

class PgBouncerTest : public BetweenTest {};

TEST_F(PgBouncerTest, LeadsToEveryDatabase) {
  PgBouncer bouncer(cluster_->port());
  EXPECT_EQ(ask(bouncer.url(), "SELECT 1"), "1");
  const std::string url = with_port(cluster_->create_database(), bouncer.port());
  EXPECT_EQ(bouncer.url(ask(url, "SELECT current_database()")), url);
}

TEST_F(PgBouncerTest, LendsASessionForATransaction) {
  PgBouncer bouncer(cluster_->port(), {"default_pool_size=1"});
  Client one(bouncer.url());
  Client other(bouncer.url());
  const std::string process = one.ask("SELECT pg_backend_pid()");
  EXPECT_EQ(other.ask("SELECT pg_backend_pid()"), process);
  EXPECT_EQ(one.ask("BEGIN"), "");
  other.send("SELECT pg_backend_pid()");
  EXPECT_FALSE(other.hears_within(kShort));
  EXPECT_EQ(one.ask("COMMIT"), "");
  EXPECT_EQ(other.answer(), process);
}

TEST_F(PgBouncerTest, FindsAServerThatWasKilledAndStartedAgain) {
  PgBouncer bouncer(cluster_->port());
  EXPECT_EQ(ask(bouncer.url(), "SELECT 1"), "1");
  cluster_->kill_server();
  cluster_->start();
  EXPECT_EQ(ask(bouncer.url(), "SELECT 2"), "2");
}

class NetworkProxyTest : public BetweenTest {
 protected:
  NetworkProxyTest() { EXPECT_EQ(ask(direct_, "CREATE TABLE rows (number int)"), ""); }

  std::string rows() { return ask(direct_, "SELECT count(*) FROM rows"); }

  const std::string direct_ = cluster_->create_database();
  NetworkProxy proxy_{cluster_->port()};
  const std::string url_ = with_port(direct_, proxy_.port());
};

TEST_F(NetworkProxyTest, PassesWhateverIsSaid) {
  Client client(url_);
  EXPECT_EQ(client.ask("SELECT 1"), "1");
  const std::string large(20'000'000, 'x');
  EXPECT_EQ(client.ask("SELECT '" + large + "'"), large);
  EXPECT_GE(proxy_.bytes_to_server(), large.size());
  std::vector<std::unique_ptr<Client>> clients;
  for (int count = 0; count < 20; ++count) clients.push_back(std::make_unique<Client>(url_));
  for (const auto& each : clients) EXPECT_EQ(each->ask("SELECT 3"), "3");
}

TEST_F(NetworkProxyTest, PassesTheEndOfAConnection) {
  EXPECT_EQ(ask(url_, "SELECT 1"), "1");
  EXPECT_TRUE(proxy_.wait_until_server_hung_up(kLong));
  Client client(url_);
  EXPECT_TRUE(is_error(client.ask("SELECT pg_terminate_backend(pg_backend_pid())")));
  EXPECT_TRUE(proxy_.wait_until_server_hung_up(kLong));
}

TEST_F(NetworkProxyTest, ACutHoldsEverythingBackUntilItIsHealed) {
  Client one(url_);
  Client other(url_);
  proxy_.cut();
  one.send("INSERT INTO rows VALUES (1) RETURNING 'inserted'");
  EXPECT_FALSE(one.hears_within(kShort));
  EXPECT_EQ(rows(), "0");
  proxy_.heal();
  EXPECT_EQ(one.answer(), "inserted");
  EXPECT_EQ(other.ask("SELECT count(*) FROM rows"), "1");
}

TEST_F(NetworkProxyTest, AnAnswerWaitsForTheCutToHeal) {
  Client client(url_);
  client.send("SELECT pg_sleep(0.1), 'slow'");
  proxy_.cut();
  EXPECT_FALSE(client.hears_within(kShort));
  proxy_.heal();
  EXPECT_FALSE(is_error(client.answer()));
}

TEST_F(NetworkProxyTest, NewConnectionsHangWhileItIsCut) {
  proxy_.cut();
  PGconn* const connection = PQconnectStart(url_.c_str());
  const Time deadline = std::chrono::steady_clock::now() + kShort;
  const auto go_on = [connection] {
    const PostgresPollingStatusType wanted = PQconnectPoll(connection);
    if (wanted == PGRES_POLLING_OK || wanted == PGRES_POLLING_FAILED) return false;
    const short events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    pollfd watched{.fd = PQsocket(connection), .events = events, .revents = 0};
    ::poll(&watched, 1, 10);
    return true;
  };
  while (std::chrono::steady_clock::now() < deadline && go_on()) {
  }
  EXPECT_NE(PQstatus(connection), CONNECTION_OK);
  EXPECT_NE(PQstatus(connection), CONNECTION_BAD);
  proxy_.heal();
  while (go_on()) {
  }
  EXPECT_EQ(PQstatus(connection), CONNECTION_OK);
  PQfinish(connection);
}

TEST_F(NetworkProxyTest, AResetEndsAllConnectionsAndLetsNewOnesThrough) {
  Client one(url_);
  Client other(url_);
  other.send("SELECT pg_sleep(60)");
  proxy_.reset();
  EXPECT_TRUE(is_error(one.ask("SELECT 1")));
  EXPECT_TRUE(is_error(other.answer()));
  EXPECT_EQ(ask(url_, "SELECT 1"), "1");
}

TEST_F(NetworkProxyTest, AResetEndsWhatACutHolds) {
  Client client(url_);
  proxy_.cut();
  client.send("SELECT 1");
  proxy_.reset();
  EXPECT_TRUE(is_error(client.answer()));
  proxy_.heal();
  EXPECT_EQ(ask(url_, "SELECT 1"), "1");
}

TEST_F(NetworkProxyTest, TheServerGetsTheBytesBeforeTheCutAndNobodyItsAnswer) {
  const std::string command = "BEGIN; INSERT INTO rows VALUES (1); COMMIT";
  std::uint64_t length = 0;
  {
    Client client(url_);
    const std::uint64_t before = proxy_.bytes_to_server();
    EXPECT_EQ(client.ask(command), "");
    length = proxy_.bytes_to_server() - before;
  }
  EXPECT_EQ(length, command.size() + 6);  // a letter, the length, and a zero after the text
  EXPECT_EQ(rows(), "1");
  for (const std::uint64_t missing : {length, std::uint64_t{1}, std::uint64_t{0}}) {
    Client client(url_);
    Client bystander(url_);
    proxy_.cut_after_bytes_to_server(length - missing);
    EXPECT_TRUE(is_error(client.ask(command)));
    EXPECT_TRUE(is_error(bystander.ask("SELECT 1")));
    EXPECT_TRUE(proxy_.wait_until_server_hung_up(kLong));
    EXPECT_EQ(rows(), missing == 0 ? "2" : "1");
    EXPECT_EQ(ask(url_, "SELECT 1"), "1");
  }
}

TEST_F(NetworkProxyTest, TheServerDoesWhatItsLostAnswerSays) {
  Client client(url_);
  proxy_.drop_answers();
  client.send("INSERT INTO rows VALUES (1)");
  EXPECT_TRUE(proxy_.wait_until_answer_dropped(kLong));
  EXPECT_FALSE(client.hears_within(kShort));
  EXPECT_EQ(rows(), "1");
  proxy_.reset();
  EXPECT_TRUE(is_error(client.answer()));
  proxy_.heal();
  EXPECT_EQ(ask(url_, "SELECT 1"), "1");
}

TEST_F(NetworkProxyTest, HealingResetsWhoLostAnAnswer) {
  Client loser(url_);
  Client other(url_);
  proxy_.drop_answers();
  loser.send("SELECT 1");
  EXPECT_TRUE(proxy_.wait_until_answer_dropped(kLong));
  proxy_.heal();
  EXPECT_TRUE(is_error(loser.answer()));
  EXPECT_EQ(other.ask("SELECT 2"), "2");
}

TEST(NetworkProxy, ResetsItsClientsIfNobodyListens) {
  const ReservedPort nobody;
  NetworkProxy proxy(nobody.number());
  const std::string url = "postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port()) + "/x";
  EXPECT_TRUE(is_error(ask(url, "SELECT 1")));
}

}  // namespace
}  // namespace muster::testing
