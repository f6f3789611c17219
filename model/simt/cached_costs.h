// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost of a block's use of a cached operand in the scratchpad, and a cache of these costs: most programs of a
// search use their operands as earlier ones did.

#include <cstdint>
#include <vector>

#include "model/simt/access_table.h"
#include "model/simt/cached_use.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// One access instruction of one warp.
struct CachedAccess {
  BankUse use;
  std::int64_t served_passes = 0;  // passes where groups of lanes whose neighbours agree are served together
  double lanes = 0;
  double accesses = 0;      // of all warps, in one reduction step
  double instructions = 0;  // of all warps; 0: as many as accesses
};

struct CachedCost {
  CachedAccess write, read;
};

// `known`, which may be null, caches the costs of patterns for the geometry `g`.
CachedAccess cached_access(const AccessPattern& access, double accesses, double instructions, const Geometry& g,
                           AccessTable* known = nullptr);
CachedCost cached_cost(const tile::StageProgram& p, std::size_t operand, const Geometry& g);
// Cycles of the scratchpad's port for one access instruction.
double cycles_of_access(const CachedAccess& access, const Machine& m);

// Caches these costs: each is computed from addresses once. Not thread-safe. Results do not depend on earlier calls.
class CachedCosts {
 public:
  explicit CachedCosts(const Geometry& g);

  const Geometry& geometry() const { return geometry_; }
  // The table of the access patterns of these programs.
  AccessTable& accesses() { return accesses_; }

  // The number of a use: all properties of a program that determine its use of one cached operand, except how the
  // operand's rows are placed (padding, rotation, vector, box). Numbers start at 0, in the order of the calls.
  std::size_t use_of(const tile::StageProgram& p, std::size_t operand);

  // The cost of a cached operand, valid until the next call. `use` is use_of(p, operand).
  const CachedCost& of(std::size_t use, const tile::StageProgram& p, std::size_t operand);
  const CachedCost& of(const tile::StageProgram& p, std::size_t operand) { return of(use_of(p, operand), p, operand); }

 private:
  struct Use {
    StepReads reads;
    std::uint32_t first = 0;  // number of its first placement, counted from one; 0: none
  };
  struct Placed {
    tile::OperandPlan plan;
    CachedCost cost;
    std::uint32_t next = 0;
  };

  void read_words(const tile::StageProgram& p, std::size_t operand);

  Geometry geometry_;
  AccessTable accesses_;
  std::vector<std::int64_t> asked_;  // words of the question
  WordTable uses_;
  std::vector<Use> use_;  // by number
  std::vector<Placed> placed_;
};

}  // namespace tilescope::model
