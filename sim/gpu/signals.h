#pragma once
// The signals of one resident block: which phase of every slot is under way, who has arrived for it and what has come.
// Uses are counted as the block ran them: a jump over steps leaves some out, and what is under way keeps its number.
//
// Ignores: the time that an arrival takes to the scratchpad; a warp that awaits a use reads there (Core::await).

#include <cstdint>
#include <optional>
#include <vector>

#include "base/integer.h"
#include "lower/kernel.h"
#include "sim/memory/calendar.h"
#include "sim/tally.h"

namespace tilescope::sim {

class BlockSignals {
 public:
  // What was missing last of a use, and when it was there: a warp that arrived, or bytes from somewhere.
  struct Last {
    Cycle at = 0;
    Stall what = Stall::kBarrier;
  };

  BlockSignals() = default;
  explicit BlockSignals(const std::vector<lower::Signal>& signals) {
    for (const lower::Signal& s : signals)
      signals_.push_back({s.arrivals, 0, std::vector<Phase>(static_cast<std::size_t>(s.slots))});
  }

  // The number of a use as the block ran it, from the kernel's; so many more of the kernel's are left out.
  std::int64_t ran(int signal, std::int64_t use) const { return use - of(signal).left_out; }
  void leave_out(int signal, std::int64_t uses) { of(signal).left_out += uses; }

  // These take numbers as the block ran them. Arrivals and bytes are for a use that is under way.
  bool under_way(int signal, std::int64_t use) const { return phase(signal, use).number == turn(signal, use); }
  void arrive(int signal, std::int64_t use, std::int64_t bytes, Cycle at) {
    add(signal, use, {.arrived = 1, .to_come = bytes}, {at, Stall::kBarrier});
  }
  void come(int signal, std::int64_t use, std::int64_t bytes, Cycle at, Stall from) {
    add(signal, use, {.come = bytes}, {at, from});
  }
  // When the use is over; nothing while that is not known, or once its slot's next one is over too, which no waiter can
  // tell from neither. One before the first is over from the beginning.
  std::optional<Last> over(int signal, std::int64_t use) const {
    if (use < 0) return Last{};
    const Phase& p = phase(signal, use);
    return p.number == turn(signal, use) + 1 ? std::optional(p.before) : std::nullopt;
  }

 private:
  struct Amounts {
    std::int64_t arrived = 0, to_come = 0, come = 0;
  };
  struct Phase {
    std::int64_t number = 0;  // of its slot's
    Amounts amounts;
    Last last, before;  // of this one so far, of the one before it
  };
  struct Signal {
    std::int64_t arrivals = 1, left_out = 0;
    std::vector<Phase> slots;
  };

  const Signal& of(int signal) const { return signals_[static_cast<std::size_t>(signal)]; }
  Signal& of(int signal) { return signals_[static_cast<std::size_t>(signal)]; }
  std::size_t slot(int signal, std::int64_t use) const {
    return static_cast<std::size_t>(base::floor_mod(use, std::ssize(of(signal).slots)));
  }
  const Phase& phase(int signal, std::int64_t use) const { return of(signal).slots[slot(signal, use)]; }
  std::int64_t turn(int signal, std::int64_t use) const { return base::floor_div(use, std::ssize(of(signal).slots)); }

  void add(int signal, std::int64_t use, const Amounts& more, const Last& last) {
    Phase& p = of(signal).slots[slot(signal, use)];
    p.amounts.arrived += more.arrived;
    p.amounts.to_come += more.to_come;
    p.amounts.come += more.come;
    if (last.at > p.last.at) p.last = last;
    if (p.amounts.arrived < of(signal).arrivals || p.amounts.come != p.amounts.to_come) return;
    p = {p.number + 1, {}, p.last, p.last};
  }

  std::vector<Signal> signals_;
};

}  // namespace tilescope::sim
