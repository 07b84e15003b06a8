// coroutine_pipeline.cpp: pages go through three stages, each on a pool of its own.
//
// Reading is for one worker, as for one disk; counting is for all the CPUs; the totals belong to
// one worker alone, so they need no lock. A page is a coroutine that walks from pool to pool, and
// no thread waits for any of them.
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <muster/task.hpp>
#include <muster/thread_pool.hpp>
#include <muster/when.hpp>

namespace {

using Counts = std::map<std::string, std::size_t>;

struct Page {
  std::string name = {};
  std::size_t words = 0;
  std::string problem = {};
};

// Stands for a slow disk.
std::string read_page(const std::string& name) {
  static const std::map<std::string, std::string> kPages = {
      {"departure", "the tide turned at noon and the crew cast off the last rope"},
      {"storm", "the wind took the sail and the crew took in the rest"},
      {"calm", "no wind and no wave and nothing to do but wait for the wind"},
  };
  const auto found = kPages.find(name);
  if (found == kPages.end()) throw std::out_of_range("is torn out");
  return found->second;
}

Counts count_words(const std::string& text) {
  Counts counts;
  std::istringstream words(text);
  for (std::string word; words >> word;) ++counts[word];
  return counts;
}

class Logbook {
 public:
  muster::Future<Page> add(std::string name) {
    return muster::spawn(disk_, process(std::move(name)));
  }

  // Reads the totals where they are written.
  std::size_t total_of(const std::string& word) {
    return ledger_.submit([&] { return totals_[word]; }).get();
  }

 private:
  muster::Task<Page> process(std::string name) {
    Page page{.name = name};
    try {
      const std::string text = co_await read(name);
      const Counts counts = co_await cpu_.submit([&] { return count_words(text); });
      co_await ledger_.schedule();
      for (const auto& [word, count] : counts) {
        totals_[word] += count;
        page.words += count;
      }
    } catch (const std::out_of_range& error) {
      page.problem = error.what();  // whichever stage it came from
    }
    co_return page;
  }

  muster::Task<std::string> read(std::string name) {
    co_await disk_.schedule();
    co_return read_page(name);
  }

  Counts totals_;  // belongs to the only worker of ledger_
  muster::ThreadPool ledger_{{.workers = 1, .thread_name = "ledger"}};
  muster::ThreadPool cpu_{{.thread_name = "cpu"}};
  muster::ThreadPool disk_{{.workers = 1, .thread_name = "disk"}};
};

}  // namespace

int main() {
  Logbook logbook;
  std::vector<muster::Future<Page>> pages;
  for (const char* name : {"departure", "storm", "mutiny", "calm"}) {
    pages.push_back(logbook.add(name));
  }
  for (const Page& page : muster::when_all(pages).get()) {
    std::cout << std::left << std::setw(10) << page.name;
    if (page.problem.empty()) {
      std::cout << std::right << std::setw(3) << page.words << " words\n";
    } else {
      std::cout << page.problem << '\n';
    }
  }
  for (const char* word : {"the", "wind", "crew"}) {
    std::cout << '"' << word << "\" stands there " << logbook.total_of(word) << " times\n";
  }
}
