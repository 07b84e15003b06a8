// sample.hpp: a value of every kind that can be encoded, made at random.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/describe.hpp>

#include <muster/base/random.hpp>
#include <muster/bytes.hpp>
#include <muster/codec_described.hpp>

namespace muster::testing {

enum class Color : std::uint8_t { red, green, blue };

// Sent as it lies in memory.
struct Point {
  std::int16_t x = 0;
  std::int16_t y = 0;

  bool operator==(const Point&) const = default;
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

struct Named {
  std::string name;

  bool operator==(const Named&) const = default;
};
BOOST_DESCRIBE_STRUCT(Named, (), (name))

struct Layer : Named {
  Point origin;
  std::vector<Point> outline;

  bool operator==(const Layer&) const = default;
};
BOOST_DESCRIBE_STRUCT(Layer, (Named), (origin, outline))

struct Sample {
  bool is_draft = false;
  std::int64_t number = 0;
  double ratio = 0;
  Color color = Color::red;
  std::string text;
  Bytes blob;
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> texts;
  std::vector<bool> bits;
  std::vector<Money> prices;
  std::array<std::uint16_t, 3> sizes{};
  std::array<std::string, 2> two_texts;
  std::optional<std::string> note;
  std::optional<Point> place;
  std::pair<int, std::string> pair;
  std::tuple<Color, Money, std::string> tuple{Color::red, Money(0), ""};
  std::map<std::string, std::vector<int>> by_name;
  std::unordered_map<int, Named> by_number;
  std::vector<Layer> layers;

  bool operator==(const Sample&) const = default;
};
BOOST_DESCRIBE_STRUCT(Sample, (),
                      (is_draft, number, ratio, color, text, blob, numbers, texts, bits, prices,
                       sizes, two_texts, note, place, pair, tuple, by_name, by_number, layers))

inline std::string random_text(Random& random) {
  std::string text(random.below(8) == 0 ? 40 + random.below(40) : random.below(10), ' ');
  for (char& letter : text) letter = static_cast<char>(random.below(256));
  return text;
}

inline int random_int(Random& random) {
  return static_cast<int>(random());
}

inline Point random_point(Random& random) {
  return {static_cast<std::int16_t>(random()), static_cast<std::int16_t>(random())};
}

inline Money random_money(Random& random) {
  return Money(static_cast<std::int64_t>(random.below(1'000'000)));
}

template <class Make>
auto random_list(Random& random, const Make& make) {
  std::vector<decltype(make(random))> items;
  for (auto left = random.below(5); left > 0; --left) items.push_back(make(random));
  return items;
}

inline Sample random_sample(Random& random) {
  Sample sample;
  sample.is_draft = random.chance(0.5);
  sample.number = static_cast<std::int64_t>(random());
  sample.ratio = random.real();
  sample.color = static_cast<Color>(random.below(3));
  sample.text = random_text(random);
  sample.blob = random_text(random);
  sample.numbers = random_list(random, [](Random& r) { return static_cast<std::uint32_t>(r()); });
  sample.texts = random_list(random, random_text);
  sample.bits = random_list(random, [](Random& r) { return r.chance(0.5); });
  sample.prices = random_list(random, random_money);
  for (auto& size : sample.sizes) size = static_cast<std::uint16_t>(random());
  for (auto& text : sample.two_texts) text = random_text(random);
  if (random.chance(0.5)) sample.note = random_text(random);
  if (random.chance(0.5)) sample.place = random_point(random);
  sample.pair = {random_int(random), random_text(random)};
  sample.tuple = {Color::blue, random_money(random), random_text(random)};
  for (const std::string& name : random_list(random, random_text)) {
    sample.by_name[name] = random_list(random, random_int);
  }
  for (const int number : random_list(random, random_int)) {
    sample.by_number[number] = Named{random_text(random)};
  }
  sample.layers = random_list(random, [](Random& r) {
    return Layer{{random_text(r)}, random_point(r), random_list(r, random_point)};
  });
  return sample;
}

}  // namespace muster::testing

template <>
struct muster::Codec<muster::testing::Money> {
  static void encode(const testing::Money& money, ByteWriter& out) {
    Codec<std::int64_t>::encode(money.cents(), out);
  }
  static testing::Money decode(ByteReader& in) {
    const auto cents = Codec<std::int64_t>::decode(in);
    if (cents < 0) throw CodecError("cannot decode Money: it is negative");
    return testing::Money(cents);
  }
};
