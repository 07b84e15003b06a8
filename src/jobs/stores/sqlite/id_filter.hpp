// id_filter.hpp: most new ids are new; to know that without asking the database.
//
//     if (!filter.may_have(pool, id)) ...   // nobody has it
//
// A Bloom filter in layers, each four times as large as the one before: who has an id, or another
// with the same bits, "may have" it. An id has seven bits of one cache line per layer, so that
// a question costs as many misses as there are layers. Ids that have gone stay in it: who asks for
// one of them has to look it up, no more.
//
// Thread safety: as any value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "jobs/store.hpp"

namespace muster {

class IdFilter {
 public:
  // For so many ids, of ten bits each: 27 MB. If more are added it says yes to all.
  explicit IdFilter(std::size_t most = 22'000'000) : most_(most) {}

  void add(PoolNumber pool, std::string_view id);

  // False: it was never added.
  [[nodiscard]] bool may_have(PoolNumber pool, std::string_view id) const noexcept;

  // From now on all may be there.
  void give_up();

 private:
  struct alignas(64) Block {
    std::array<std::uint64_t, 8> words{};
  };
  struct Layer {
    std::vector<Block> blocks;
    std::size_t room = 0;  // for so many ids more
  };

  std::size_t most_;
  std::vector<Layer> layers_;  // the last one is being filled
  std::size_t size_ = 0;
  bool is_useless_ = false;
};

}  // namespace muster
