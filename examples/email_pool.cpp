// email_pool.cpp: mails with priorities, times and a limit; a day of them passes at once.
//
//     ./dev run email_pool
//
// The provider takes three mails at once, and then one a second. Receipts go before campaigns,
// reminders wait for their time, and every morning at eight a schedule makes the digests, of which
// nobody gets two a day. The clock is one for tests, and jobs are run by hand: so all of it is the
// same each time, and takes no time.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include <muster/base/clock.hpp>
#include <muster/job_pool.hpp>

using namespace std::chrono_literals;

struct Mail {
  std::string to;
  std::string subject;
};
BOOST_DESCRIBE_STRUCT(Mail, (), (to, subject))

struct Digests {
  std::vector<std::string> readers;
};
BOOST_DESCRIBE_STRUCT(Digests, (), (readers))

struct Receipt {
  std::string message_id;
  unsigned attempts = 0;
};
BOOST_DESCRIBE_STRUCT(Receipt, (), (message_id, attempts))

namespace {

using Words = std::vector<std::string>;

constexpr int kTransactional = 10;
constexpr int kCampaign = -10;

// Throws if it is not so.
void check(const char* what, bool is_so) {
  if (!is_so) throw std::runtime_error(std::string("not as expected: ") + what);
}

class Day {
 public:
  explicit Day(muster::FakeClock& clock)
      : clock_(clock),
        jobs_(muster::Jobs::open("memory:", {.clock = &clock, .mode = muster::JobsMode::by_hand})),
        mails_(jobs_.define<Mail>("mails", mails())) {
    jobs_.define<Digests>("digests", {.concurrency = 1, .execute = make_digests});
    jobs_.schedule<Digests>("digest", {.pool = "digests",
                                       .cron = "0 8 * * *",
                                       .event = {.readers = {"ada", "bob"}},
                                       .missed_runs = muster::MissedRuns::run_once});
    jobs_.start();
  }

  void say(const std::string& line) const {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(clock_.wall_now());
    const auto day = std::chrono::floor<std::chrono::days>(seconds);
    const std::chrono::hh_mm_ss time(seconds - day);
    std::printf("%02u. %02d:%02d:%02d  %s\n",
                static_cast<unsigned>(std::chrono::year_month_day(day).day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), line.c_str());
  }

  // Looks every `step` whether something is due.
  void pass(muster::Duration time, muster::Duration step) {
    for (muster::Duration passed{}; passed < time; passed += step) {
      clock_.advance(step);
      (void)jobs_.run_due();
    }
  }

  [[nodiscard]] const muster::JobClient<Mail>& mails_client() const { return mails_; }
  [[nodiscard]] const Words& sent() const { return sent_; }

 private:
  // One sender: it is the provider who sets the pace, and the priority decides between all mails.
  muster::JobPoolConfig<Mail> mails() {
    return {.concurrency = 1,
            .retry = {.max_attempts = 3,
                      .delay = muster::fixed(30s),
                      .jitter = 0,
                      .is_retryable =
                          [](const muster::JobError& error) {
                            return !error.what.starts_with("no such mailbox");
                          }},
            .execute = [this](muster::JobContext& job, const Mail& mail) { send(job, mail); },
            .on_dead_letter =
                [this](const Mail& mail, const muster::JobError& error,
                       const muster::DeadLetterInfo& info) {
                  say("given up: " + info.job_id + " to " + mail.to + ": " + error.what);
                },
            .on_empty =
                [this](const muster::EmptyInfo& info) {
                  say("nothing left to send; " + std::to_string(info.processed) + " so far");
                },
            .limits = {.pool = muster::per_second(1, 3)}};
  }

  void send(muster::JobContext& job, const Mail& mail) {
    job.log("connecting for " + mail.to);
    if (mail.to == "nobody") throw std::runtime_error("no such mailbox: nobody");
    if (mail.to == "cleo" && job.attempt() == 1) throw std::runtime_error("mailbox is busy");
    job.log("accepted");
    job.result(
        Receipt{.message_id = "<" + job.job_id() + "@example.org>", .attempts = job.attempt()});
    say(job.job_id() + ": " + mail.subject);
    sent_.push_back(job.job_id());
  }

  // They are there when this job has ended, or not at all. Who has had one in the last 20 hours
  // gets none.
  static void make_digests(muster::JobContext& job, const Digests& digests) {
    for (const std::string& reader : digests.readers) {
      job.enqueue<Mail>("mails", {.id = "digest-" + reader,
                                  .event = {.to = reader, .subject = "What happened"},
                                  .unique_for = 20h});
    }
  }

  muster::FakeClock& clock_;
  Words sent_;
  muster::Jobs jobs_;
  muster::JobClient<Mail> mails_;
};

void morning(Day& day) {
  const muster::JobClient<Mail>& mails = day.mails_client();
  std::vector<muster::EnqueueOptions<Mail>> campaign;
  for (const char* const to : {"ada", "bob", "cleo", "dan", "eve", "nobody"}) {
    campaign.push_back({.id = std::string("sale-") + to,
                        .event = {.to = to, .subject = "Everything must go"},
                        .priority = kCampaign});
  }
  day.say(std::to_string(mails.enqueue_many(campaign).enqueued) + " mails of a campaign");
  day.pass(1s, 1s);
  mails.enqueue({.id = "receipt-7",
                 .event = {.to = "dan", .subject = "Your order 7"},
                 .priority = kTransactional});
  mails.enqueue(
      {.id = "reminder-7", .event = {.to = "dan", .subject = "How was order 7?"}, .delay = 12h});
  day.pass(119s, 1s);
}

void rest_of_the_day(Day& day) {
  const muster::JobClient<Mail>& mails = day.mails_client();
  day.pass(1h, 1min);
  const muster::EnqueueResult more = mails.enqueue(
      {.id = "digest-ada", .event = {.to = "ada", .subject = "Once more"}, .unique_for = 20h});
  check("nobody gets two digests a day", !more.created);
  day.say("ada asks for her digest again, and has had it");
  day.pass(23h, 1min);
}

// The first attempt for cleo fails: hers is sent half a minute later.
const Words kExpected{"sale-ada",   "sale-bob",   "receipt-7",  "sale-dan",
                      "sale-eve",   "sale-cleo",  "digest-ada", "digest-bob",
                      "reminder-7", "digest-ada", "digest-bob"};

void run() {
  muster::FakeClock clock;
  clock.set_wall(std::chrono::sys_days(2026y / 11 / 17) + 7h + 58min);
  Day day(clock);
  morning(day);
  rest_of_the_day(day);
  const muster::JobClient<Mail>& mails = day.mails_client();
  std::printf("\nresult of sale-cleo: %s\nits log:\n%s",
              mails.result("sale-cleo").value_or("none").c_str(),
              mails.log("sale-cleo").value_or("").c_str());
  for (const muster::JobDeadLetter& letter : mails.dead_letters()) {
    std::printf("dead letter %s: %s\n", letter.id.c_str(), letter.errors.back().what.c_str());
  }
  check("mails go out in this order", day.sent() == kExpected);
  check("one is a dead letter", mails.dead_letters().size() == 1);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << "email_pool: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
