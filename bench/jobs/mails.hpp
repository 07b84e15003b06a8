// mails.hpp: the jobs of this suite: mails of about 100 bytes of JSON, which nobody sends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include <muster/jobs/enqueue_options.hpp>

namespace muster::bench {

struct Mail {
  std::uint64_t number = 0;
  std::string to = {};
  std::string subject = {};
  std::string text = {};
};
BOOST_DESCRIBE_STRUCT(Mail, (), (number, to, subject, text))

using Mails = std::vector<EnqueueOptions<Mail>>;

// Whether an index of ids grows at its end, or everywhere.
enum class Ids { sequential, random };

struct MailNumbers {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Different numbers have different ids.
EnqueueOptions<Mail> make_mail(std::uint64_t number, Ids ids);
Mails make_mails(const MailNumbers& numbers, Ids ids);

// As stores have them.
std::vector<EncodedJob> encoded_mails(const Mails& mails);

// All contenders enqueue so many at once.
inline constexpr std::size_t kBatch = 1000;

// Calls `each` with one batch after the other.
template <class Jobs, class Each>
void for_each_batch(const Jobs& jobs, const Each& each) {
  const std::span all(jobs);
  for (std::size_t begin = 0; begin < all.size(); begin += kBatch) {
    each(all.subspan(begin, std::min(kBatch, all.size() - begin)));
  }
}

}  // namespace muster::bench
