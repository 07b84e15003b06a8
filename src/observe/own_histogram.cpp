// own_histogram.cpp: octaves come when they are needed, and are read by anybody.
#include <new>

#include <muster/observe/own_histogram.hpp>

namespace muster {

OwnHistogram::~OwnHistogram() {
  for (const Atomic<Octave*>& octave : octaves_) delete octave.load(relaxed);  // relaxed: the last
}

OwnHistogram::Octave* OwnHistogram::make_octave(std::size_t number) noexcept {
  auto* const octave = new (std::nothrow) Octave{};
  // sync(octave): pairs with the load in snapshot(), which must see its counts, zeros at first.
  octaves_[number].store(octave, release);
  return octave;
}

HistogramSnapshot OwnHistogram::snapshot() const {
  HistogramSnapshot snapshot;
  for (std::size_t number = 0; number < kOctaves; ++number) {
    // sync(octave): pairs with the store in make_octave().
    const Octave* const octave = octaves_[number].load(acquire);
    if (octave == nullptr) continue;
    for (std::size_t i = 0; i < octave->counts.size(); ++i) {
      // relaxed: as in Histogram::snapshot().
      snapshot.add(number * HistogramBuckets::kPerOctave + i, octave->counts[i].load(relaxed));
    }
  }
  return snapshot;
}

}  // namespace muster
