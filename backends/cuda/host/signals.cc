#include "backends/cuda/host/signals.h"

#include <cstring>
#include <limits>

#include "backends/cuda/host/watch.h"

namespace tilescope::cuda::host {
namespace {

constexpr int kBarrierBytes = 8;

long long phase_of(const Use& use) { return use.number / use.slots; }

}  // namespace

void Signals::begin_block(Random& random) {
  slots_.clear();
  coming_.clear();
  random_ = &random;
}

void Signals::end_block() const {
  for (const auto& [at, slot] : slots_)
    if (slot.brings || slot.brought_unseen) fail("the block ends, and nobody awaited what a bulk copy brought");
}

void Signals::set_up(const void* ring, int slots, int arrivals) {
  for (int i = 0; i < slots; ++i) {
    const void* const at = static_cast<const char*>(ring) + i * kBarrierBytes;
    slots_[at] = {.arrivals = arrivals};
    watch::signal_begins(at);
  }
}

const void* Signals::address_of(const Use& use) {
  return static_cast<const char*>(use.ring) + use.number % use.slots * kBarrierBytes;
}

Signals::Slot& Signals::slot_of(const Use& use) {
  const auto found = slots_.find(address_of(use));
  if (found == slots_.end()) fail("a signal that nobody set up");
  return found->second;
}

Signals::Slot& Signals::under_way(const Use& use) {
  if (use.number < 0) fail("wrong use of a signal: it is %d", use.number);
  Slot& slot = slot_of(use);
  if (slot.phase != phase_of(use))
    fail("wrong use of a signal: it is %d, of whose slot phase %lld is under way", use.number, slot.phase);
  return slot;
}

void Signals::arrive(const Use& use, int bytes) {
  Slot& slot = under_way(use);
  if (slot.arrived == slot.arrivals) fail("more warps arrive for use %d than it waits for", use.number);
  ++slot.arrived;
  slot.to_come += bytes;
  watch::warp_arrives(address_of(use));
  settle(address_of(use), slot);
}

bool Signals::is_over(const Use& use) {
  const Slot& slot = slot_of(use);
  // Whoever looks at the parity of phases takes the one after the next for the one before.
  if (slot.phase > phase_of(use) + 1) fail("use %d is awaited after its slot's next one is over too", use.number);
  return slot.phase > phase_of(use);
}

void Signals::awaited(const Use& use) {
  slot_of(use).brought_unseen = false;
  watch::signal_awaited(address_of(use));
}

// At once, somewhen, or as late as can be.
void Signals::bring(const Use& use, const tilescope_tensor_map& tensor, const int* at, char* to) {
  Slot& slot = under_way(use);
  const Box box = box_of(tensor, at);
  watch::box_asked(box);
  std::string bytes(static_cast<std::size_t>(box.bytes), '\0');
  for (const BoxRun& r : box.runs) {
    watch::bulk_reads(r.from, static_cast<int>(r.bytes));
    std::memcpy(bytes.data() + r.to, r.from, static_cast<std::size_t>(r.bytes));
  }
  for (long long b = 0; b < box.bytes; b += kPiece)
    watch::bulk_writes(piece_at(tensor, to + b), kPiece, address_of(use));
  ++slot.under_way;
  slot.brings = true;
  constexpr std::uint64_t kSoon = 500;  // threads that take their turn
  const std::uint64_t when = (*random_)() % 3, wait = (*random_)() % kSoon;
  const long long due = when == 0   ? now_
                        : when == 1 ? now_ + static_cast<long long>(wait)
                                    : std::numeric_limits<long long>::max();
  coming_.push_back({address_of(use), tensor, to, std::move(bytes), due, place});
  if (when == 0) land(coming_.size() - 1);
}

void Signals::pass() {
  ++now_;
  for (std::size_t i = coming_.size(); i-- > 0;)
    if (coming_[i].due <= now_) land(i);
}

bool Signals::let_come() {
  if (coming_.empty()) return false;
  land((*random_)() % coming_.size());
  return true;
}

void Signals::land(std::size_t n) {
  const Coming c = std::move(coming_[n]);
  coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t b = 0; b < c.bytes.size(); b += kPiece)
    std::memcpy(piece_at(c.tensor, c.to + b), c.bytes.data() + b, kPiece);
  place = c.asked;  // whose copy it is that too much comes by
  Slot& slot = slots_.at(c.at);
  slot.to_come -= static_cast<long long>(c.bytes.size());
  --slot.under_way;
  settle(c.at, slot);
}

void Signals::settle(const void* at, Slot& slot) {
  if (slot.arrived < slot.arrivals || slot.to_come != 0) return;
  if (slot.under_way > 0)
    fail("a use of a signal is over while a bulk copy for it is under way: too few bytes were said");
  slot = {.arrivals = slot.arrivals, .phase = slot.phase + 1, .brought_unseen = slot.brings};
  ++phases_ended_;
  watch::signal_over(at);
}

std::string Signals::state_of(const Use& use) {
  const Slot& slot = slot_of(use);
  return "use " + std::to_string(use.number) + ": of " + std::to_string(slot.arrivals) + " warps " +
         std::to_string(slot.arrived) + " have arrived, " + std::to_string(slot.to_come) + " B are to come";
}

}  // namespace tilescope::cuda::host
