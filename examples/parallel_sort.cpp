// parallel_sort.cpp: a merge sort that divides itself with join, beside std::sort.
//
// Usage: parallel_sort [NUMBERS]
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <muster/base/random.hpp>
#include <muster/thread_pool.hpp>

namespace {

using Numbers = std::span<std::uint32_t>;

// Below this, dividing costs more than it gives.
constexpr std::size_t kSerial = 4096;

// Sorts `from`; the result stands in `from` itself or in `to`, as told.
enum class ResultIn { from, to };

void merge_sort(Numbers from, Numbers to, ResultIn result) {
  if (from.size() <= kSerial) {
    std::sort(from.begin(), from.end());
    if (result == ResultIn::to) std::copy(from.begin(), from.end(), to.begin());
    return;
  }
  const std::size_t half = from.size() / 2;
  const ResultIn halves = result == ResultIn::to ? ResultIn::from : ResultIn::to;
  muster::join([&] { merge_sort(from.first(half), to.first(half), halves); },
               [&] { merge_sort(from.subspan(half), to.subspan(half), halves); });
  const Numbers source = halves == ResultIn::from ? from : to;
  const Numbers target = halves == ResultIn::from ? to : from;
  std::merge(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(half),
             source.begin() + static_cast<std::ptrdiff_t>(half), source.end(), target.begin());
}

template <class Work>
double seconds_for(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::stoul(argv[1]) : 5'000'000;
  muster::Random random(1);
  std::vector<std::uint32_t> numbers(size);
  for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random());
  std::vector<std::uint32_t> expected = numbers;
  std::vector<std::uint32_t> scratch(size);

  muster::ThreadPool pool;
  const double parallel =
      seconds_for([&] { pool.run([&] { merge_sort(numbers, scratch, ResultIn::from); }); });
  const double serial = seconds_for([&] { std::sort(expected.begin(), expected.end()); });

  std::cout << size << " numbers, " << pool.worker_count() << " workers: " << parallel
            << " s; std::sort alone: " << serial << " s\n";
  if (numbers != expected) {
    std::cerr << "the results differ\n";
    return 1;
  }
  return 0;
}
