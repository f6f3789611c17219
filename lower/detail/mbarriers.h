// SPDX-License-Identifier: Apache-2.0
#pragma once
// The mbarriers of a block that is interpreted: which phases are over, and what a warp that waited for one knows. Roles
// are numbered through all blocks of a cluster.
// All functions throw Mistake where a kernel breaks a rule of lower/kernel.h.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lower/detail/block_memory.h"
#include "lower/detail/crew.h"
#include "lower/kernel.h"

namespace tilescope::lower {

class Mbarriers {
 public:
  Mbarriers(const Kernel& k, BlockMemory& memory) : k_(k), memory_(memory) {}

  // Begins a block; `roles` are those of its warps, in all blocks of its cluster.
  void begin(std::size_t roles);
  // No data is left that no warp waited for.
  void end() const;

  // Whether the phase is over, so that the wait ends.
  bool is_over(const MbarrierWait& w, const Crew& by);
  void wait(const MbarrierWait& w, Crew& by);
  void arrive(const MbarrierArrive& a, Crew& by);
  void arrive(const Tcgen05Commit& c, Crew& by);
  // The load's phase has to be open when it starts; its data arrives later.
  void start(const TmaLoad& load, const Crew& by) { open(load.mbarrier, load.phase, by); }
  void add(const TmaLoad& load, Landing data, std::int64_t bytes, const Crew& by);

 private:
  // The phase of a stage that is in progress, and what warps that waited for earlier ones have seen.
  struct Phase {
    std::int64_t number = 0;
    std::int64_t arrived = 0, expected = 0, received = 0;  // warps, bytes
    std::vector<Landing> landings;
    Clock arriving, over;
  };

  void arrive(int mbarrier, const Affine& phase, std::int64_t arrivals, std::int64_t bytes, Crew& by);
  Phase& phase_of(int mbarrier, std::int64_t phase);
  std::int64_t number_of(int mbarrier, std::int64_t phase) const;
  // The phase of a stage; it has to be in progress.
  Phase& open(int mbarrier, const Affine& number, const Crew& by);
  // Completes the phase once all warps have arrived and all bytes have come: its TMA loads land now.
  void settle(int mbarrier, Phase& p, const Crew& by);
  const Mbarrier& mbarrier(int i) const { return k_.mbarriers[static_cast<std::size_t>(i)]; }

  const Kernel& k_;
  BlockMemory& memory_;
  std::vector<std::vector<Phase>> phases_;  // by mbarrier and stage
};

}  // namespace tilescope::lower
