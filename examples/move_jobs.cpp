// move_jobs.cpp: takes all jobs of one store to another, as when one machine is not enough any
// more.
//
//     ./dev run move_jobs sqlite:jobs.db postgresql://user@host/database
//
// Without arguments it shows that with two files of its own.
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <unistd.h>

#include <boost/describe.hpp>

#include <muster/job_pool.hpp>
#include <muster/jobs/move_jobs.hpp>

struct Mail {
  std::string to;
};
BOOST_DESCRIBE_STRUCT(Mail, (), (to))

namespace {

void move(const std::string& from, const std::string& to) {
  const muster::MovedJobs moved = muster::move_jobs(from, to);
  std::cout << moved.jobs << " jobs of " << moved.pools << " pools are in " << to << " now";
  if (moved.known > 0) std::cout << "; " << moved.known << " were there before";
  std::cout << ".\n";
}

muster::JobClient<Mail> define_mails(muster::Jobs& jobs) {
  return jobs.define<Mail>(
      "mails", {.concurrency = 2, .execute = [](muster::JobContext& context, const Mail& mail) {
                  context.log("to " + mail.to);
                }});
}

// Three mails are accepted in one store, and delivered from another.
bool show(const std::filesystem::path& folder) {
  const std::string from = "sqlite:" + (folder / "old.db").string();
  const std::string to = "sqlite:" + (folder / "new.db").string();
  {
    auto jobs = muster::Jobs::open(from);
    const auto mails = define_mails(jobs);
    for (const char* const name : {"ada", "bob", "cid"}) {
      mails.enqueue({.id = name, .event = {name}});
    }
  }
  move(from, to);
  auto jobs = muster::Jobs::open(to);
  const auto mails = define_mails(jobs);
  jobs.start();
  (void)mails.drain();
  const bool is_known = !mails.enqueue({.id = "ada", .event = {"ada"}}).created;
  std::cout << mails.status().total_processed << " of them were delivered from there.\n";
  return is_known && mails.status().total_processed == 3;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3) {
      move(argv[1], argv[2]);
      return 0;
    }
    const auto folder =
        std::filesystem::temp_directory_path() / ("muster-move-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const bool is_right = show(folder);
    std::filesystem::remove_all(folder);
    return is_right ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
