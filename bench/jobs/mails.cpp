// mails.cpp: what a mail is made of.
#include "jobs/mails.hpp"

#include <array>
#include <cstdio>

namespace muster::bench {
namespace {

// The finaliser of splitmix64, which maps no two numbers to the same.
std::uint64_t scattered(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
  return number ^ (number >> 31);
}

std::string id_of(std::uint64_t number, Ids ids) {
  const std::uint64_t shown = ids == Ids::random ? scattered(number) : number;
  std::array<char, 32> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(shown));
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

EnqueueOptions<Mail> make_mail(std::uint64_t number, Ids ids) {
  return {.id = id_of(number, ids),
          .event = {.number = number,
                    .to = "user-" + std::to_string(number) + "@example.org",
                    .subject = "Welcome",
                    .text = "Thank you for joining us."}};
}

Mails make_mails(const MailNumbers& numbers, Ids ids) {
  Mails mails;
  mails.reserve(numbers.count);
  for (std::uint64_t i = 0; i < numbers.count; ++i) {
    mails.push_back(make_mail(numbers.first + i, ids));
  }
  return mails;
}

std::vector<EncodedJob> encoded_mails(const Mails& mails) {
  std::vector<EncodedJob> jobs;
  jobs.reserve(mails.size());
  for (const EnqueueOptions<Mail>& mail : mails) jobs.push_back(encoded(mail));
  return jobs;
}

}  // namespace muster::bench
