// ring_trip.cpp: the two processes, each with its view of the ring.
#include "processes/ring_trip.hpp"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <muster/queues/ring_producer.hpp>
#include <muster/queues/ring_supervisor.hpp>
#include <muster/queues/ring_worker.hpp>

#include "processes/child_process.hpp"

namespace muster::bench {
namespace {

constexpr const char* kPartner = "--ring-partner";
constexpr std::uint32_t kTheEnd = 1;  // a method
constexpr ParticipantIndex kHere = 0;
constexpr ParticipantIndex kThere = 1;
constexpr RingGeometry kGeometry{.slots = 64, .participants = 2, .parties = RingParties::pair};

std::span<std::byte> map_ring(int file) {
  const std::size_t bytes = SharedRing::bytes_for(kGeometry);
  return {static_cast<std::byte*>(map_file(file, bytes)), bytes};
}

void expect(bool what) {
  if (!what) throw std::runtime_error("the ring does not work");
}

}  // namespace

RingTrip::RingTrip() {
  const int file = make_file(SharedRing::bytes_for(kGeometry));
  expect(ring_.format(map_ring(file), kGeometry) == AttachOutcome::attached);
  expect(ring_.occupy(kHere, 1) && ring_.occupy(kThere, 2));
  partner_ = start_program(own_path(), {own_path(), kPartner}, file);
  close(file);
}

RingTrip::~RingTrip() {
  TaskContents last;
  last.method = kTheEnd;
  (void)RingProducer(ring_, kHere).submit(last);
  (void)waitpid(partner_, nullptr, 0);
}

void RingTrip::round_trip() {
  const RingSupervisor supervisor(ring_, kHere);
  expect(RingProducer(ring_, kHere).submit({}).outcome == SubmitOutcome::submitted);
  while (!ring_.has_done()) spin_pause();
  const Settling settling = supervisor.collect();
  expect(settling.outcome == TakeOutcome::taken && supervisor.release(settling) == HandOver::done);
}

std::optional<int> run_ring_partner(int argc, char** argv) {
  if (argc != 2 || argv[1] != std::string_view(kPartner)) return std::nullopt;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  SharedRing ring;
  expect(ring.attach(map_ring(kGivenFile)) == AttachOutcome::attached);
  const RingWorker worker(ring, kThere);
  for (;;) {
    const Claim claim = worker.claim();
    if (claim.outcome != TakeOutcome::taken) {
      spin_pause();
      continue;
    }
    if (worker.contents(claim).method == kTheEnd) return EXIT_SUCCESS;
    expect(worker.complete(claim, {}) == HandOver::done);
  }
}

}  // namespace muster::bench
