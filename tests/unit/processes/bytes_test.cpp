// bytes_test.cpp: bytes keep what they were given, share it if it is much, and let go of it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/bytes.hpp>

namespace muster {
namespace {

static_assert(std::is_nothrow_copy_constructible_v<Bytes>);
static_assert(std::is_nothrow_move_constructible_v<Bytes>);
static_assert(std::is_convertible_v<const char*, Bytes>);
static_assert(std::is_convertible_v<std::string, Bytes>);
static_assert(std::is_convertible_v<const std::string&, Bytes>);
static_assert(std::is_convertible_v<std::string_view, Bytes>);
static_assert(!std::is_convertible_v<std::nullptr_t, Bytes>);
static_assert(!std::is_constructible_v<Bytes, const std::vector<std::byte>&>,
              "a copy of many bytes is asked for by name");

// Around the number that stands inside, where what holds them changes.
constexpr std::array<std::size_t, 7> kSizes = {0, 1, 15, 47, 48, 49, 1000};

std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text.push_back(static_cast<char>('a' + i % 26));
  return text;
}

bool shares_memory(const Bytes& left, const Bytes& right) {
  return left.span().data() == right.span().data();
}

TEST(Bytes, AreEmptyUnlessGivenSome) {
  const Bytes bytes;
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(bytes.size(), 0U);
  EXPECT_EQ(bytes.text(), "");
  EXPECT_TRUE(bytes.span().empty());
  EXPECT_EQ(bytes, Bytes(""));
}

TEST(Bytes, HoldWhatTheyAreMadeOf) {
  for (const std::size_t size : kSizes) {
    const std::string text = letters(size);
    const auto image = std::as_bytes(std::span(text));
    for (const Bytes& bytes :
         {Bytes(text), Bytes(text.c_str()), Bytes(std::string_view(text)), Bytes(std::string(text)),
          Bytes::copy_of(text), Bytes::copy_of(image), Bytes::view_of(image, nullptr),
          Bytes(std::vector<std::byte>(image.begin(), image.end()))}) {
      EXPECT_EQ(bytes.size(), size);
      EXPECT_EQ(bytes.empty(), size == 0);
      EXPECT_EQ(bytes.text(), text);
      EXPECT_EQ(bytes.to_string(), text);
      EXPECT_TRUE(std::ranges::equal(bytes.span(), image));
    }
  }
}

TEST(Bytes, MayHoldZeroBytes) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(Bytes(text).size(), 3U);
  EXPECT_EQ(Bytes(text).to_string(), text);
}

TEST(Bytes, AreEqualIfTheyHoldTheSame) {
  for (const std::size_t size : kSizes) {
    const Bytes bytes(letters(size));
    EXPECT_EQ(bytes, Bytes(letters(size)));
    EXPECT_NE(bytes, Bytes(letters(size + 1)));
    if (size > 0) {
      std::string other = letters(size);
      other.back() = '!';
      EXPECT_NE(bytes, Bytes(other));
    }
  }
}

TEST(Bytes, CopyAndMoveBetweenAllSizes) {
  for (const std::size_t from : kSizes) {
    for (const std::size_t to : kSizes) {
      Bytes source(letters(from));
      Bytes copied(letters(to));
      copied = source;
      EXPECT_EQ(copied.text(), letters(from));
      EXPECT_EQ(source.text(), letters(from));

      Bytes moved(letters(to));
      moved = std::move(source);
      EXPECT_EQ(moved.text(), letters(from));
      EXPECT_TRUE(source.empty());  // NOLINT(bugprone-use-after-move): promised to be empty
      source = copied;
      EXPECT_EQ(source.text(), letters(from));
    }
  }
}

TEST(Bytes, SurviveBeingAssignedToThemselves) {
  for (const std::size_t size : kSizes) {
    Bytes bytes(letters(size));
    Bytes& same = bytes;
    bytes = same;
    EXPECT_EQ(bytes.text(), letters(size));
    bytes = std::move(same);
    EXPECT_EQ(bytes.text(), letters(size));
  }
}

TEST(Bytes, OfAStringThatIsMovedInStayWhereTheyWere) {
  std::string text = letters(49);
  const void* const where = text.data();
  const Bytes bytes(std::move(text));
  EXPECT_EQ(bytes.span().data(), where);

  std::vector<std::byte> vector(49);
  const void* const there = vector.data();
  const Bytes more(std::move(vector));
  EXPECT_EQ(more.span().data(), there);
}

TEST(Bytes, ManyAreSharedByCopiesAndFewAreNot) {
  const Bytes many(letters(49));
  const Bytes few(letters(48));
  EXPECT_TRUE(shares_memory(many, Bytes(many)));
  EXPECT_FALSE(shares_memory(few, Bytes(few)));
}

TEST(Bytes, AViewKeepsItsOwnerUntilTheLastCopyIsGone) {
  auto owner = std::make_shared<const std::string>(letters(100));
  const std::weak_ptr<const std::string> watch = owner;
  Bytes view = Bytes::view_of(std::as_bytes(std::span(*owner)), owner);
  EXPECT_EQ(static_cast<const void*>(view.span().data()), owner->data());
  owner.reset();
  Bytes copy = view;
  view = Bytes();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(copy.text(), letters(100));
  Bytes part = copy.part(10, 60);
  copy = "small";
  EXPECT_FALSE(watch.expired());
  part = Bytes();
  EXPECT_TRUE(watch.expired());
}

TEST(Bytes, ASmallViewIsCopiedAndItsOwnerLetGo) {
  auto owner = std::make_shared<const std::string>(letters(48));
  const std::weak_ptr<const std::string> watch = owner;
  const auto image = std::as_bytes(std::span(*owner));
  const Bytes view = Bytes::view_of(image, std::move(owner));
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(view.text(), letters(48));
}

TEST(Bytes, APartSharesTheMemoryOfTheWhole) {
  const Bytes whole(letters(200));
  const Bytes part = whole.part(26, 100);
  EXPECT_EQ(part.text(), letters(100));
  EXPECT_EQ(part.span().data(), whole.span().data() + 26);
  EXPECT_EQ(whole.part(52, 26).text(), letters(26));
  EXPECT_TRUE(whole.part(200, 0).empty());
  EXPECT_EQ(Bytes("hello").part(1, 3).text(), "ell");
}

TEST(BytesDeathTest, ThereIsNoPartBeyondTheEnd) {
  const Bytes bytes("hello");
  EXPECT_DEATH((void)bytes.part(6, 0), "offset <= size_");
  EXPECT_DEATH((void)bytes.part(2, 4), "count <= size_ - offset");
}

}  // namespace
}  // namespace muster
