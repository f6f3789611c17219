// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the two policies of ROLLER's artifact allow and prefer: candidate extents, capacities, which programs are good
// enough, and which axis grows first.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "construct/detail/osdi22_quantities.h"
#include "tile/space.h"

namespace tilescope::construct {

// A program of the search. `thread` is the register tile (reduced axes 1); `block`, with the reduction steps, is empty
// while the search is still at the level of registers.
struct Osdi22Tiles {
  tile::Extents thread;
  tile::Extents block;

  bool in_registers() const { return block.empty(); }
  // The tile of the level at which the search is.
  const tile::Extents& current() const { return in_registers() ? thread : block; }
  tile::Extents& current() { return in_registers() ? thread : block; }
  bool operator==(const Osdi22Tiles&) const = default;
};

// Extents that each tile axis may take, ascending.
using Osdi22Steps = std::vector<std::vector<std::int64_t>>;

// The figures in which the two policies differ.
struct Osdi22Figures {
  double eps_step;                  // by which a round may waste more than the one before
  std::int64_t multiples;           // block extents are 1 ... multiples times the register extent
  std::int64_t first_transactions;  // transactions of the shortest reduction step
  std::int64_t step_growth;         // from one reduction step to the next longer one
  std::int64_t longest_step;
};

class Osdi22Policy {
 public:
  // `space` must live as long as this.
  Osdi22Policy(const tile::TileSpace& space, const arch::RollerBaseline& constants);

  bool io_dependent() const { return io_dependent_; }
  double eps_step() const { return figures_.eps_step; }

  // Extents for register tiles, and for the block tiles over one register tile, that waste at most `eps` of any spatial
  // axis. A list may be empty.
  Osdi22Steps register_steps(double eps) const;
  Osdi22Steps block_steps(const tile::Extents& thread, double eps) const;

  // Whether the capacities allow the program at its level.
  bool fits(const Osdi22Tiles& p) const;

  // Whether its threads fill all partitions of a core; always true of a register tile.
  bool fills_partitions(const Osdi22Tiles& p) const;

  // Whether the program is a result, or a register tile a good start for block tiles. `p` fits.
  bool accepts(const Osdi22Tiles& p) const;

  // Axes in the order in which the search grows them.
  base::FixedVector<int, tile::kMaxAxes> axis_order(const tile::Extents& t) const;

  // The program with smaller tiles where its blocks would leave cores idle; the policy without reuse leaves it alone.
  Osdi22Tiles shrunk(Osdi22Tiles p) const;

 private:
  bool is_intensive(const Osdi22Tiles& p) const;
  std::vector<std::int64_t> reduction_steps(std::int64_t length) const;
  double threads(const Osdi22Tiles& p) const;
  double blocks(const Osdi22Tiles& p) const;

  const tile::TileSpace& space_;
  arch::RollerBaseline constants_;
  Osdi22Quantities quantities_;
  bool io_dependent_;
  Osdi22Figures figures_;
  std::int64_t transaction_;  // elements
};

}  // namespace tilescope::construct
