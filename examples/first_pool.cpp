// first_pool.cpp: the four ways to give a pool something to do.
#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include <muster/thread_pool.hpp>

namespace {

long fib(int n) {
  if (n < 2) return n;
  const auto [a, b] = muster::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

}  // namespace

int main() {
  // [readme]
  muster::ThreadPool pool;  // a worker for each CPU that this process may use

  pool.post([] { std::cout << "somewhere, some time\n"; });

  muster::Future<std::string> answer = pool.submit([] { return 6 * 7; }).then([](int number) {
    return "the answer is " + std::to_string(number);
  });

  std::vector<double> roots(1000);
  pool.parallel_for(0, roots.size(), [&](std::size_t i) { roots[i] = std::sqrt(double(i)); });

  const long rabbits = pool.run([] { return fib(30); });  // fib() divides itself with muster::join

  std::cout << answer.get() << ", " << roots[49] << ", " << rabbits << '\n';
  // [readme]
  return 0;
}
