// SPDX-License-Identifier: Apache-2.0
#pragma once
// Aligned rTiles, grown level by level in the order of their reuse score (ROLLER OSDI'22, section 3.3 and Figure 8).

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "base/integer.h"
#include "construct/detail/growth.h"
#include "tile/space.h"

namespace tilescope::construct {

// The widest a register tile is along one axis, in units that it grows from: a wider one leaves no registers to others.
inline constexpr std::int64_t kWidestRegisterExtent = 32;
// Into how many equal parts threads may cut an axis, besides powers of two.
inline constexpr std::int64_t kMaxEqualParts = 6;
// Shares of an axis that tiles may waste (rule 4), tried in this order until there are enough. ROLLER's artifact goes
// from 0 to 1 in steps of 0.2, of 0.1 without reuse; what wastes nothing is among the tiles of the first share here.
inline constexpr std::array kEpsilons = {0.1, 0.2, 0.4, 0.6, 0.8, 1.0};

// Elements that so many bytes hold (an access, a transaction, a bank); at least one.
inline std::int64_t elements_in(base::Bytes bytes, base::Bytes element) {
  return std::max<std::int64_t>(1, bytes.n / element.n);
}

// Whether neighbours along an axis lie side by side in the memory of an operand.
bool is_innermost(const tile::TileSpace& space, std::size_t axis);

// What bounds the growth of tiles on a chip.
struct GrowthLimits {
  std::int64_t registers = 0;     // 32-bit; that one thread's tile may take
  std::int64_t cached_bytes = 0;  // one block may keep
  std::int64_t max_threads = 0;   // of one block
  std::int64_t warp = 1;
  base::Bytes transaction;  // of memory
  base::Bytes max_access;   // of one thread

  auto operator<=>(const GrowthLimits&) const = default;
};
GrowthLimits growth_limits(const arch::ArchSpec& a);

// Register tiles of a space: grown from a unit (single elements, or a register tile of reduced axes), doubling one axis
// at a time, kept where no other tile of at most the footprint moves clearly less. Where no axis is reused the
// innermost axis alone grows, to the widest access.
std::vector<LevelTile> register_tiles(const tile::TileSpace& space, const GrowthLimits& limits,
                                      const tile::Extents& unit);

// Extents that a block may have along an axis, ascending: one thread, `per_thread` wide; threads by powers of two and
// what cuts the axis into few equal parts, at most so many, that waste at most `epsilon` of it.
Choices block_extents(std::int64_t length, std::int64_t per_thread, std::int64_t most, double epsilon);

// Calls it with every number of threads that may cut an axis, whatever each keeps of it, some more than once: powers of
// two, and what cuts it into few equal parts.
template <class Take>
void each_number_of_threads(std::int64_t length, const Take& take) {
  for (std::int64_t power = 1; power <= length; power *= 2) take(power);
  for (std::int64_t kept = 1; kept <= kWidestRegisterExtent; kept *= 2)
    for (std::int64_t parts = 1; parts <= kMaxEqualParts; ++parts)
      take(base::ceil_div(base::ceil_div(length, kept), parts));
}

// Whether a block of so many threads (or warps, of which one is enough) obeys alignment rules 1 and 2: threads fill
// warps, but where it is all there is, and its data tiles end on transactions.
bool is_aligned(const tile::TileSpace& space, const tile::Extents& block, std::int64_t threads, std::int64_t warp,
                base::Bytes transaction);

// Whether block tiles have to obey alignment rules 1 and 2.
enum class Alignment : std::uint8_t { kRules, kAny };

// Extents that block tiles over a register tile may have, reduced axes at `step`: threads grow along every axis to
// sizes that waste at most `epsilon` of it.
AxisChoices block_choices(const tile::TileSpace& space, const GrowthLimits& limits, const tile::Extents& registers,
                          const tile::Extents& step, double epsilon);

// Block tiles of these extents, until a block's limits; kept where they fill warps and no smaller tile moves clearly
// less.
std::vector<LevelTile> block_tiles(const tile::TileSpace& space, const GrowthLimits& limits, const AxisChoices& choices,
                                   const tile::Extents& step, Alignment alignment = Alignment::kRules);

// Of the shorter of two times, what the longer one does not hide: tiles that it binds alike are still told apart.
inline constexpr double kNotHidden = 0.25;

// Iterations of a stage in such blocks, those beyond its ranges included.
double iterations_of(const tile::TileSpace& space, const tile::Extents& block);

// What a block tile over a register tile asks of a chip, for the whole stage: a core's instructions and loads into
// registers, what lies beyond the stage's ranges included, and elements that blocks move through the device cache.
struct TileWork {
  double instructions = 0, blocks = 0, loads = 0, traffic = 0;
};
TileWork work_of(const tile::TileSpace& space, const LevelTile& registers, const LevelTile& block);

// What the chip does of that. `matrix_unit` is the instruction whose fragments the tiles are, or null.
struct TileRates {
  bool reduces = false;
  double cores = 1, instructions = 1, loads = 1, clock = 1;  // a cycle and core
  double element = 1, bytes = 1;                             // bytes of one; a second
  double launch_us = 0;                                      // of the second kernel of a split reduction
};
TileRates tile_rates(const tile::TileSpace& space, const arch::ArchSpec& a, const arch::ComputeSpec* matrix_unit);

// How far a pair of tiles is from what the chip could do, in microseconds: the longer of a core's instructions, in
// whole waves of blocks, and of what blocks move through the device cache. After ROLLER's own model (OSDI'22, section
// 3.4); it says which tiles are worth a cost model's time, and it is never shown as a time.
double cost_of(const TileWork& work, const TileRates& rates);

// The first reduction step of a space: a transaction of the longest reduced axis, short axes whole.
tile::Extents first_step(const tile::TileSpace& space, const GrowthLimits& limits);

}  // namespace tilescope::construct
