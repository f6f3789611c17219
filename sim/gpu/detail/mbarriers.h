// SPDX-License-Identifier: Apache-2.0
#pragma once
// The mbarriers of one resident block: which phase of every stage is under way, how many warps have arrived for it and
// how many bytes have come. Phases are counted as the block ran them: a jump over steps leaves some out, and what is
// under way keeps its number.
//
// Ignores: the time that an arrival takes to the scratchpad; a warp that awaits a phase reads there (Core::await).

#include <cstdint>
#include <optional>
#include <vector>

#include "base/integer.h"
#include "lower/kernel.h"
#include "sim/memory/reservation_table.h"
#include "sim/statistics.h"

namespace tilescope::sim {

class BlockMbarriers {
 public:
  // What was missing last of a phase, and when it was there: a warp that arrived, or bytes from somewhere.
  struct Last {
    Cycle at{};
    Stall what = Stall::kBarrier;
  };

  BlockMbarriers() = default;
  explicit BlockMbarriers(const std::vector<lower::Mbarrier>& mbarriers) {
    for (const lower::Mbarrier& s : mbarriers)
      mbarriers_.push_back({s.arrivals, 0, std::vector<Phase>(static_cast<std::size_t>(s.stages))});
  }

  // The number of a phase as the block ran it, from the kernel's; so many more of the kernel's are left out.
  std::int64_t ran(int mbarrier, std::int64_t phase) const { return phase - of(mbarrier).left_out; }
  void leave_out(int mbarrier, std::int64_t phases) { of(mbarrier).left_out += phases; }

  // These take numbers as the block ran them. Arrivals and bytes are for a phase that is under way.
  bool under_way(int mbarrier, std::int64_t phase) const {
    return current(mbarrier, phase).number == turn(mbarrier, phase);
  }
  void arrive(int mbarrier, std::int64_t phase, std::int64_t bytes, Cycle at) {
    add(mbarrier, phase, {.arrived = 1, .to_come = bytes}, {at, Stall::kBarrier});
  }
  void come(int mbarrier, std::int64_t phase, std::int64_t bytes, Cycle at, Stall from) {
    add(mbarrier, phase, {.come = bytes}, {at, from});
  }
  // When the phase is over; nothing while that is not known, or once its stage's next one is over too, which no waiter
  // can tell from neither. One before the first is over from the beginning.
  std::optional<Last> over(int mbarrier, std::int64_t phase) const {
    if (phase < 0) return Last{};
    const Phase& p = current(mbarrier, phase);
    return p.number == turn(mbarrier, phase) + 1 ? std::optional(p.before) : std::nullopt;
  }

 private:
  struct Amounts {
    std::int64_t arrived = 0, to_come = 0, come = 0;
  };
  struct Phase {
    std::int64_t number = 0;  // of its stage's
    Amounts amounts;
    Last last, before;  // of this one so far, of the one before it
  };
  struct Mbarrier {
    std::int64_t arrivals = 1, left_out = 0;
    std::vector<Phase> stages;
  };

  const Mbarrier& of(int mbarrier) const { return mbarriers_[static_cast<std::size_t>(mbarrier)]; }
  Mbarrier& of(int mbarrier) { return mbarriers_[static_cast<std::size_t>(mbarrier)]; }
  std::size_t stage(int mbarrier, std::int64_t phase) const {
    return static_cast<std::size_t>(base::floor_mod(phase, std::ssize(of(mbarrier).stages)));
  }
  const Phase& current(int mbarrier, std::int64_t phase) const { return of(mbarrier).stages[stage(mbarrier, phase)]; }
  std::int64_t turn(int mbarrier, std::int64_t phase) const {
    return base::floor_div(phase, std::ssize(of(mbarrier).stages));
  }

  void add(int mbarrier, std::int64_t phase, const Amounts& more, const Last& last) {
    Phase& p = of(mbarrier).stages[stage(mbarrier, phase)];
    p.amounts.arrived += more.arrived;
    p.amounts.to_come += more.to_come;
    p.amounts.come += more.come;
    if (last.at > p.last.at) p.last = last;
    if (p.amounts.arrived < of(mbarrier).arrivals || p.amounts.come != p.amounts.to_come) return;
    p = {p.number + 1, {}, p.last, p.last};
  }

  std::vector<Mbarrier> mbarriers_;
};

}  // namespace tilescope::sim
