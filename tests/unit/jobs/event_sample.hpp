// event_sample.hpp: events of every kind, made at random, and texts that are nearly theirs.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/describe.hpp>
#include <boost/json.hpp>

#include <muster/base/random.hpp>
#include <muster/jobs/event_json.hpp>

namespace muster::testing {

using Time = std::chrono::system_clock::time_point;

BOOST_DEFINE_ENUM_CLASS(Size, small, medium, large)

struct Item {
  std::string name;
  std::uint32_t quantity = 1;
  bool operator==(const Item&) const = default;
};
BOOST_DESCRIBE_STRUCT(Item, (), (name, quantity))

struct Traced {
  std::optional<std::string> trace;
  bool operator==(const Traced&) const = default;
};
BOOST_DESCRIBE_STRUCT(Traced, (), (trace))

// One of every kind.
struct Order : Traced {
  bool is_paid = false;
  std::int8_t floor = 0;
  std::uint64_t number = 0;
  float rating = 0;
  double amount = 0;
  std::string note;
  Size size = Size::small;
  std::optional<Item> gift;
  std::vector<Item> items;
  std::vector<bool> flags;
  std::vector<std::optional<int>> gaps;
  std::array<std::int16_t, 2> corner{};
  std::map<std::string, std::optional<double>> prices;
  std::unordered_map<std::string, std::string> labels;
  Time placed_at;
  std::chrono::seconds patience{};
  boost::json::value payload;
  boost::json::object extra;
  bool operator==(const Order&) const = default;
};
BOOST_DESCRIBE_STRUCT(Order, (Traced),
                      (is_paid, floor, number, rating, amount, note, size, gift, items, flags, gaps,
                       corner, prices, labels, placed_at, patience, payload, extra))

struct Tree {
  std::vector<Tree> branches;
  bool operator==(const Tree&) const = default;
};
BOOST_DESCRIBE_STRUCT(Tree, (), (branches))

struct Nothing {
  bool operator==(const Nothing&) const = default;
};
BOOST_DESCRIBE_STRUCT(Nothing, (), ())

class Hidden {
 public:
  int shown() const { return secret_; }
  void set(int secret) { secret_ = secret; }

 private:
  int secret_ = 0;
  int unsaid_ [[maybe_unused]] = 7;
  BOOST_DESCRIBE_CLASS(Hidden, (), (), (), (secret_))
};

// Has no default constructor, and a codec of its own.
class Money {
 public:
  explicit Money(std::int64_t cents) : cents_(cents) {}
  std::int64_t cents() const { return cents_; }
  bool operator==(const Money&) const = default;

 private:
  std::int64_t cents_;
};

struct WebhookEvent {
  std::string webhook_id, endpoint, customer_id;
  boost::json::value payload;
};
BOOST_DESCRIBE_STRUCT(WebhookEvent, (), (webhook_id, endpoint, customer_id, payload))

// Both with codecs of their own, of which the second does not say what it takes.
struct Either {};
struct Opaque {};

inline std::string random_text(Random& random) {
  static constexpr std::array<std::string_view, 12> kPieces = {
      "a", "B7", " ", "\"", "\\", "\n", "\x01", "\u00e9", "\u20ac", "\U0001f600", "eight888", "$."};
  std::string text;
  for (auto left = random.below(8); left > 0; --left) text += kPieces[random.below(12)];
  return text;
}

// Any that is finite.
inline double random_double(Random& random) {
  const auto number = std::bit_cast<double>(random());
  return std::isfinite(number) ? number : 0.1;
}
inline float random_float(Random& random) {
  const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return std::isfinite(number) ? number : 0.1F;
}

inline boost::json::value random_json(Random& random, int depth) {
  switch (random.below(depth > 0 ? 8 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random.chance(0.5);
    case 2:
      return static_cast<std::int64_t>(random());
    case 3:
      return random() >> random.below(64);
    case 4:
      return random_double(random);
    case 5:
      return boost::json::value(random_text(random));
    case 6: {
      boost::json::array array;
      for (auto left = random.below(4); left > 0; --left) {
        array.push_back(random_json(random, depth - 1));
      }
      return array;
    }
    default: {
      boost::json::object object;
      for (auto left = random.below(4); left > 0; --left) {
        object[random_text(random)] = random_json(random, depth - 1);
      }
      return object;
    }
  }
}

template <class Make>
auto random_list(Random& random, const Make& make) {
  std::vector<decltype(make(random))> items;
  for (auto left = random.below(4); left > 0; --left) items.push_back(make(random));
  return items;
}

inline Item random_item(Random& random) {
  return {random_text(random), static_cast<std::uint32_t>(random())};
}

inline Order random_order(Random& random) {
  Order order;
  if (random.chance(0.5)) order.trace = random_text(random);
  order.is_paid = random.chance(0.5);
  order.floor = static_cast<std::int8_t>(random());
  order.number = random() >> random.below(64);
  order.rating = random_float(random);
  order.amount = random_double(random);
  order.note = random_text(random);
  order.size = static_cast<Size>(random.below(3));
  if (random.chance(0.5)) order.gift = random_item(random);
  order.items = random_list(random, random_item);
  order.flags = random_list(random, [](Random& r) { return r.chance(0.5); });
  order.gaps = random_list(random, [](Random& r) {
    return r.chance(0.5) ? std::optional(static_cast<int>(r())) : std::nullopt;
  });
  for (auto& place : order.corner) place = static_cast<std::int16_t>(random());
  for (const std::string& name : random_list(random, random_text)) {
    if (auto& price = order.prices[name]; random.chance(0.5)) price = random.real();
  }
  for (const std::string& name : random_list(random, random_text)) {
    order.labels[name] = random_text(random);
  }
  order.placed_at = Time(Time::duration(static_cast<std::int64_t>(random())));
  order.patience = std::chrono::seconds(static_cast<std::int64_t>(random.below(9'000'000'000)));
  order.payload = random_json(random, 3);
  order.extra[random_text(random)] = random_json(random, 2);
  return order;
}

// One to three small changes, some of which leave it valid.
inline std::string mutated(std::string text, Random& random) {
  static constexpr std::string_view kTelling = "{}[]\":,\\0123456789.eE+-Ztfnu \n";
  for (auto left = 1 + random.below(3); left > 0 && !text.empty(); --left) {
    const auto at = random.below(text.size());
    const char telling = kTelling[random.below(kTelling.size())];
    switch (random.below(6)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = telling;
        break;
      case 2:
        text.insert(at, 1, telling);
        break;
      case 3:
        text.erase(at, 1 + random.below(3));
        break;
      case 4:
        text.insert(at, text.substr(random.below(text.size()), random.below(20)));
        break;
      default:
        text.resize(random.chance(0.1) ? at : text.size());
        break;
    }
  }
  return text;
}

}  // namespace muster::testing

template <>
struct muster::EventCodec<muster::testing::Money> {
  static void encode(const testing::Money& money, EventWriter& out) { out.write(money.cents()); }
  static testing::Money decode(const EventReader& in) {
    const auto cents = in.read<std::int64_t>();
    if (cents < 0) in.fail("an amount of at least 0 cents");
    return testing::Money(cents);
  }
  static boost::json::object schema() { return {{"type", "integer"}, {"minimum", 0}}; }
};

template <>
struct muster::EventCodec<muster::testing::Either> {
  static boost::json::object schema() { return {{"const", "either"}}; }
};

template <>
struct muster::EventCodec<muster::testing::Opaque> {};
