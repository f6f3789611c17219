// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/mbarriers.h"

#include <cstring>
#include <limits>

#include "backends/cuda/host/watch.h"

namespace tilescope::cuda::host {
namespace {

constexpr int kBarrierBytes = 8;

long long phase_of(const RingPhase& phase) { return phase.number / phase.stages; }

}  // namespace

void Mbarriers::begin_block(Random& random) {
  stages_.clear();
  coming_.clear();
  random_ = &random;
}

void Mbarriers::end_block() const {
  for (const auto& [at, stage] : stages_)
    if (stage.brings || stage.brought_unseen) fail("the block ends, and no warp awaited what a bulk copy brought");
}

void Mbarriers::set_up(const void* ring, int stages, int arrivals) {
  for (int i = 0; i < stages; ++i) {
    const void* const at = static_cast<const char*>(ring) + i * kBarrierBytes;
    stages_[at] = {.arrivals = arrivals};
    watch::mbarrier_begins(at);
  }
}

const void* Mbarriers::address_of(const RingPhase& phase) {
  return static_cast<const char*>(phase.ring) + phase.number % phase.stages * kBarrierBytes;
}

Mbarriers::Stage& Mbarriers::stage_of(const RingPhase& phase) {
  const auto found = stages_.find(address_of(phase));
  if (found == stages_.end()) fail("an mbarrier that no thread set up");
  return found->second;
}

Mbarriers::Stage& Mbarriers::under_way(const RingPhase& phase) {
  if (phase.number < 0) fail("wrong use of a signal: it is %d", phase.number);
  Stage& stage = stage_of(phase);
  if (stage.phase != phase_of(phase))
    fail("wrong use of a signal: it is %d, of whose slot phase %lld is under way", phase.number, stage.phase);
  return stage;
}

void Mbarriers::arrive(const RingPhase& phase, int bytes) {
  Stage& stage = under_way(phase);
  if (stage.arrived == stage.arrivals) fail("more warps arrive for use %d than it waits for", phase.number);
  ++stage.arrived;
  stage.to_come += bytes;
  watch::warp_arrives(address_of(phase));
  settle(address_of(phase), stage);
}

bool Mbarriers::is_over(const RingPhase& phase) {
  const Stage& stage = stage_of(phase);
  // A wait that looks at the parity of phases takes the one after the next for the one before.
  if (stage.phase > phase_of(phase) + 1) fail("use %d is awaited after its slot's next one is over too", phase.number);
  return stage.phase > phase_of(phase);
}

void Mbarriers::awaited(const RingPhase& phase) {
  stage_of(phase).brought_unseen = false;
  watch::mbarrier_awaited(address_of(phase));
}

// At once, somewhen, or as late as can be.
void Mbarriers::bring(const RingPhase& phase, const tilescope_tensor_map& tensor, const int* at, char* to,
                      const std::vector<long long>& blocks) {
  const Box box = box_of(tensor, at);
  watch::box_asked(box, std::ssize(blocks));
  std::string bytes(static_cast<std::size_t>(box.bytes), '\0');
  for (const BoxRun& r : box.runs) {
    watch::bulk_reads(r.from, static_cast<int>(r.bytes));
    std::memcpy(bytes.data() + r.to, r.from, static_cast<std::size_t>(r.bytes));
  }
  for (const long long away : blocks)
    start({static_cast<const char*>(phase.ring) + away, phase.stages, phase.number}, tensor, bytes, to + away);
}

void Mbarriers::start(const RingPhase& phase, const tilescope_tensor_map& tensor, const std::string& bytes, char* to) {
  Stage& stage = under_way(phase);
  for (std::size_t b = 0; b < bytes.size(); b += kPiece)
    watch::bulk_writes(piece_at(tensor, to + b), kPiece, address_of(phase));
  ++stage.under_way;
  stage.brings = true;
  constexpr std::uint64_t kSoon = 500;  // threads that take their turn
  const std::uint64_t when = (*random_)() % 3, wait = (*random_)() % kSoon;
  const long long due = when == 0   ? now_
                        : when == 1 ? now_ + static_cast<long long>(wait)
                                    : std::numeric_limits<long long>::max();
  coming_.push_back({address_of(phase), tensor, to, bytes, due, place});
  if (when == 0) land(coming_.size() - 1);
}

void Mbarriers::pass() {
  ++now_;
  for (std::size_t i = coming_.size(); i-- > 0;)
    if (coming_[i].due <= now_) land(i);
}

bool Mbarriers::let_come() {
  if (coming_.empty()) return false;
  land((*random_)() % coming_.size());
  return true;
}

void Mbarriers::land(std::size_t n) {
  const Coming c = std::move(coming_[n]);
  coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t b = 0; b < c.bytes.size(); b += kPiece)
    std::memcpy(piece_at(c.tensor, c.to + b), c.bytes.data() + b, kPiece);
  place = c.asked;  // whose copy it is that too much comes by
  Stage& stage = stages_.at(c.at);
  stage.to_come -= static_cast<long long>(c.bytes.size());
  --stage.under_way;
  settle(c.at, stage);
}

void Mbarriers::settle(const void* at, Stage& stage) {
  if (stage.arrived < stage.arrivals || stage.to_come != 0) return;
  if (stage.under_way > 0)
    fail("a use of a signal is over while a bulk copy for it is under way: too few bytes were said");
  stage = {.arrivals = stage.arrivals, .phase = stage.phase + 1, .brought_unseen = stage.brings};
  ++phases_ended_;
  watch::mbarrier_over(at);
}

std::string Mbarriers::state_of(const RingPhase& phase) {
  const Stage& stage = stage_of(phase);
  return "use " + std::to_string(phase.number) + ": of " + std::to_string(stage.arrivals) + " warps " +
         std::to_string(stage.arrived) + " have arrived, " + std::to_string(stage.to_come) + " B are to come";
}

}  // namespace tilescope::cuda::host
