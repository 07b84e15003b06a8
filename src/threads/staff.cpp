// staff.cpp: keeping workers, who are complete types only here.
#include "threads/staff.hpp"

#include <utility>

#include "threads/worker.hpp"

namespace muster {

Staff::Staff(const Size& size)
    : slots_(size.most + size.spares),
      phases_(size.most),
      wanted_(size.wanted),
      kept_(size.wanted) {}

Staff::~Staff() = default;

Worker& Staff::keep(std::size_t number, std::unique_ptr<Worker> worker) {
  Slot& slot = slots_[number];
  slot.worker = std::move(worker);
  slot.made.store(slot.worker.get(), release);  // sync(worker-made): pairs with worker()
  return *slot.worker;
}

}  // namespace muster
