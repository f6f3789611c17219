// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a block's use of a cached operand costs the scratchpad, and a cache of these costs: most programs of a search
// use their operands as earlier ones did.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "model/simt/cached_use.h"
#include "model/simt/warp_access.h"
#include "tile/program.h"

namespace tilescope::model {

// One access instruction of one warp.
struct CachedAccess {
  BankUse use;
  double served = 0;  // cycles at the port of passes, where groups of lanes whose neighbours agree are served together
  double accesses = 0;      // of all warps, in one reduction step
  double instructions = 0;  // CachedUse::read_instructions, or as many
};

struct CachedCost {
  CachedAccess write, read;
};

// The figures of a chip that it depends on.
struct StagingChip {
  explicit StagingChip(const arch::ArchSpec& a);

  std::int64_t warp = 0, banks = 0, bank_width = 0, broadcast_groups = 1;
  double port_bytes = 0;       // a cycle; 0: what a pass has
  double pass_cycles = 1;      // of the port
  double lanes_per_cycle = 1;  // that the port takes
  base::Bytes max_access;
};

CachedAccess cached_access(const WarpAccess& access, double accesses, double instructions, const StagingChip& chip);
CachedCost cached_cost(const tile::StageProgram& p, std::size_t operand, const StagingChip& chip);

// The same, each computed from the addresses once. One caller uses it, on one thread; results do not depend on earlier
// calls.
class CachedCosts {
 public:
  explicit CachedCosts(const arch::ArchSpec& a);

  // The number of a use: everything in a program that its use of one cached operand depends on, but for how the
  // operand's rows are placed (padding, rotation, vector, box). From 0 on, in the order of the calls.
  std::size_t use_of(const tile::StageProgram& p, std::size_t operand);

  // Valid until the next call. `use` is that of the operand.
  const CachedCost& of(std::size_t use, const tile::StageProgram& p, std::size_t operand);
  const CachedCost& of(const tile::StageProgram& p, std::size_t operand) { return of(use_of(p, operand), p, operand); }

 private:
  struct Use {
    std::uint64_t hash = 0;
    std::size_t begin = 0, size = 0;  // of its words
    std::uint32_t first = 0;          // of its placements: their numbers from one on
  };
  struct Placed {
    tile::OperandPlan plan;
    CachedCost cost;
    std::uint32_t next = 0;
  };

  void read_words(const tile::StageProgram& p, std::size_t operand);
  void add_places();

  StagingChip chip_;
  std::vector<std::int64_t> asked_, words_;  // of the question, of all uses
  std::vector<Use> uses_;
  std::vector<Placed> placed_;
  std::vector<std::uint32_t> places_;  // a hash table of uses: their numbers from one on
};

}  // namespace tilescope::model
