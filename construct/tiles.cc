// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/tiles.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "arch/derive.h"
#include "base/integer.h"
#include "expr/work.h"
#include "tile/align.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::TileSpace;

constexpr std::size_t kMaxRegisterTiles = 16;  // that blocks are grown over
constexpr double kClearlyLess = 0.75;
constexpr double kWorthIt = 0.9;  // of the traffic, after doubling one axis of a single element
constexpr double kSaves = 0.999;  // of the traffic: what saves less only follows from rounding

// 32-bit registers of an element.
double registers_of(base::Dtype dtype) { return static_cast<double>(base::size_of(dtype).n) / 4; }

// What one thread's tile moves after doubling an axis of the unit.
double doubled_ratio(const TileSpace& space, const Extents& unit, std::size_t axis) {
  return traffic_ratio(space, unit, axis, std::min(2 * unit[axis], space.axes[axis].extent), Level::kThread);
}

// Whether growing any axis saves traffic: without, a tile has nothing to reuse.
bool has_reuse(const TileSpace& space, const Extents& unit) {
  for (std::size_t a = 0; a < space.spatial; ++a)
    if (doubled_ratio(space, unit, a) < kWorthIt) return true;
  return false;
}

// Drops a tile where another one of at most its footprint moves clearly less. Keeps the order of growth.
std::vector<LevelTile> undominated(std::vector<LevelTile> tiles) {
  boost::container::small_vector<std::pair<double, double>, kMaxTiles> front;  // footprint, least traffic up to it
  for (const LevelTile& t : tiles) front.emplace_back(t.footprint, t.traffic);
  std::sort(front.begin(), front.end());
  for (std::size_t i = 1; i < front.size(); ++i) front[i].second = std::min(front[i].second, front[i - 1].second);
  std::erase_if(tiles, [&](const LevelTile& t) {
    const auto after = std::upper_bound(front.begin(), front.end(), t.footprint,
                                        [](double footprint, const auto& f) { return footprint < f.first; });
    return t.traffic * kClearlyLess > std::prev(after)->second;
  });
  return tiles;
}

// At most `most` of the tiles: of each footprint the ones that move least, then evenly over footprints.
std::vector<LevelTile> thinned(std::vector<LevelTile> tiles, std::size_t most) {
  constexpr std::size_t kOfOneFootprint = 2;
  if (tiles.size() <= most) return tiles;
  std::stable_sort(tiles.begin(), tiles.end(), [](const LevelTile& a, const LevelTile& b) {
    return std::pair(a.footprint, a.traffic) < std::pair(b.footprint, b.traffic);
  });
  std::vector<LevelTile> few;
  for (const LevelTile& t : tiles) {
    const std::size_t n = few.size();
    const bool enough = n >= kOfOneFootprint && few[n - kOfOneFootprint].footprint == t.footprint;
    if (!enough) few.push_back(t);
  }
  std::vector<LevelTile> out;
  for (std::size_t i = 0; i < std::min(most, few.size()); ++i)
    out.push_back(few[few.size() <= most ? i : i * (few.size() - 1) / (most - 1)]);
  return out;
}

}  // namespace

Choices block_extents(std::int64_t length, std::int64_t per_thread, std::int64_t most, double epsilon) {
  const std::int64_t whole = base::ceil_div(length, per_thread);
  Choices threads;
  for (std::int64_t power = 2; power <= std::min(whole, most); power *= 2) threads.push_back(power);
  for (std::int64_t parts = 1; parts <= kMaxEqualParts; ++parts)
    if (const std::int64_t n = base::ceil_div(whole, parts); n > 1 && n <= most) threads.push_back(n);
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  Choices out = {per_thread};
  for (const std::int64_t n : threads)
    if (tile::wasted_ratio(length, n * per_thread) <= epsilon) out.push_back(n * per_thread);
  return out;
}

bool is_innermost(const TileSpace& space, std::size_t axis) {
  for (std::size_t i = 0; i < space.operand_count(); ++i) {
    const tile::Operand& o = space.operand(i);
    if (o.dims.empty()) continue;
    for (const expr::Term& t : o.dims.back().terms)
      if (t.axis == static_cast<int>(axis)) return true;
  }
  return false;
}

GrowthLimits growth_limits(const arch::ArchSpec& a) {
  GrowthLimits g;
  const arch::RegisterLevel* registers = arch::registers_of(a);
  const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(a);
  const std::int64_t all = arch::registers_per_core(*registers);
  // At least a warp on every partition has to fit in addition to its bookkeeping.
  g.registers = std::min(registers->per_thread.value_or(all), all / (a.core.warp * a.core.partitions)) * 3 / 4;
  g.cached_bytes = arch::scratchpad_per_block(*scratchpad).n;
  g.max_threads = a.core.max_block_threads;
  g.warp = a.core.warp;
  g.transaction = arch::device_transaction_of(a);
  g.max_access = arch::widest_access_of(a);
  return g;
}

Extents first_step(const TileSpace& space, const GrowthLimits& limits) {
  Extents step(space.axes.size(), 1);
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(space);
  const std::int64_t elements = elements_in(limits.transaction, base::size_of(space.expression.dtype));
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) {
    const std::int64_t n = space.axes[a].extent;
    step[a] = a == longest || n <= elements ? std::min(n, elements) : 1;
  }
  return step;
}

std::vector<LevelTile> register_tiles(const TileSpace& space, const GrowthLimits& limits, const Extents& unit) {
  if (!has_reuse(space, unit)) {
    Extents one = unit;
    std::vector<LevelTile> out;
    const std::size_t inner = space.spatial - 1;
    const std::int64_t widest = elements_in(limits.max_access, base::size_of(space.expression.dtype));
    for (std::int64_t n = unit[inner]; n == unit[inner] || n <= std::min(widest, space.axes[inner].extent); n *= 2) {
      one[inner] = n;
      out.push_back({one, 0, static_cast<double>(n)});
    }
    return out;
  }
  AxisChoices choices;
  for (std::size_t a = 0; a < space.spatial; ++a) {
    choices[a].push_back(unit[a]);
    if (doubled_ratio(space, unit, a) >= kSaves) continue;
    for (std::int64_t n = 2 * unit[a]; n <= kWidestRegisterExtent * unit[a] && n < 2 * space.axes[a].extent; n *= 2)
      choices[a].push_back(n);
  }
  LevelLimits keeps;
  keeps.of_input = registers_of(space.expression.dtype);
  keeps.of_output = registers_of(space.expression.accumulate);
  keeps.footprint = static_cast<double>(limits.registers);
  return thinned(undominated(grown(space, Level::kThread, unit, choices, keeps)), kMaxRegisterTiles);
}

AxisChoices block_choices(const TileSpace& space, const GrowthLimits& limits, const Extents& registers,
                          const Extents& step, double epsilon) {
  Extents first = step;
  for (std::size_t a = 0; a < space.spatial; ++a) first[a] = registers[a];
  AxisChoices choices;
  for (std::size_t a = 0; a < space.spatial; ++a)
    choices[a] = block_extents(space.axes[a].extent, registers[a], limits.max_threads, epsilon);
  // An axis that saves nothing, as channels of a depthwise convolution, grows only where threads or transactions need
  // it: where several do, tiles that differ in which of them they are long along would fill all that is visited.
  const auto fills_block = [&](std::size_t but) {
    std::int64_t threads = 1;
    for (std::size_t a = 0; a < space.spatial; ++a)
      if (a != but && choices[a].size() > 1) threads *= base::ceil_div(space.axes[a].extent, registers[a]);
    return threads >= limits.max_threads;
  };
  for (std::size_t a = 0; a < space.spatial; ++a)
    if (choices[a].size() > 1 && !is_innermost(space, a) && fills_block(a) &&
        traffic_ratio(space, first, a, choices[a][1], Level::kBlock) >= kSaves)
      choices[a].erase(choices[a].begin() + 1, choices[a].end());
  return choices;
}

bool is_aligned(const TileSpace& space, const Extents& block, std::int64_t threads, std::int64_t warp,
                base::Bytes transaction) {
  bool everything = true;  // a tile of all there is may leave a warp partly empty
  for (std::size_t a = 0; a < space.spatial; ++a) everything = everything && block[a] >= space.axes[a].extent;
  if (!everything && !tile::fills_units(threads, warp)) return false;
  for (std::size_t a = 0; a < space.spatial; ++a)
    if (!tile::fills_transactions(space, a, block[a], transaction)) return false;
  return true;
}

std::vector<LevelTile> block_tiles(const TileSpace& space, const GrowthLimits& limits, const AxisChoices& choices,
                                   const Extents& step, Alignment alignment) {
  Extents first = step;
  for (std::size_t a = 0; a < space.spatial; ++a) first[a] = choices[a].front();
  LevelLimits keeps;
  keeps.parts = limits.max_threads;
  if (space.axes.size() > space.spatial)
    keeps.footprint =
        static_cast<double>(limits.cached_bytes) / static_cast<double>(base::size_of(space.expression.dtype).n);
  std::vector<LevelTile> grown = construct::grown(space, Level::kBlock, first, choices, keeps);
  if (alignment == Alignment::kAny) return grown;
  const auto threads_of = [&](const Extents& e) {
    std::int64_t n = 1;
    for (std::size_t a = 0; a < space.spatial; ++a) n *= e[a] / first[a];
    return n;
  };
  std::erase_if(grown, [&](const LevelTile& t) {
    return !is_aligned(space, t.extents, threads_of(t.extents), limits.warp, limits.transaction);
  });
  return undominated(std::move(grown));
}

double iterations_of(const TileSpace& space, const Extents& block) {
  double n = 1;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    const std::int64_t extent = space.axes[a].extent;
    n *= static_cast<double>(a < space.spatial ? base::round_up(extent, block[a]) : extent);
  }
  return n;
}

TileWork work_of(const TileSpace& space, const LevelTile& registers, const LevelTile& block) {
  double points = 1, blocks = 1;
  for (std::size_t i = 0; i < space.axes.size(); ++i) {
    const std::int64_t n = space.axes[i].extent;
    points *= static_cast<double>(n);
    if (i < space.spatial) blocks *= static_cast<double>(base::ceil_div(n, block.extents[i]));
  }
  const double padded = iterations_of(space, block.extents);
  return {padded, blocks, registers.traffic * padded / points, block.traffic};
}

TileRates tile_rates(const TileSpace& space, const arch::ArchSpec& a, const arch::ComputeSpec* matrix_unit) {
  TileRates r;
  const auto [dtype, accumulate] = expr::arithmetic_dtypes(space.expression);
  const arch::ComputeSpec* unit = matrix_unit != nullptr ? matrix_unit : arch::scalar_unit_of(a, dtype, accumulate);
  r.reduces = space.axes.size() > space.spatial;
  r.cores = static_cast<double>(a.core.count);
  r.instructions = static_cast<double>(unit == nullptr ? a.core.warp * a.core.partitions : unit->per_core);
  r.element = static_cast<double>(base::size_of(space.expression.dtype).n);
  // A load is an instruction like a multiply-add; of a whole warp it takes the scratchpad's banks.
  r.loads = matrix_unit == nullptr ? r.instructions
                                   : static_cast<double>(arch::transaction_of(*arch::scratchpad_of(a)).n) / r.element;
  r.clock = static_cast<double>(a.clock.n);
  r.bytes = arch::device_bandwidth_of(a).v;
  r.launch_us = a.launch_overhead.v;
  return r;
}

double cost_of(const TileWork& t, const TileRates& r) {
  const double memory_us = t.traffic * r.element * 1e6 / r.bytes;
  const auto in_waves = [&](double waves) {
    const double core_us = (t.instructions / r.instructions + t.loads / r.loads) * waves / r.cores * 1e6 / r.clock;
    return std::max(core_us, memory_us) + kNotHidden * std::min(core_us, memory_us);
  };
  const double whole_us = in_waves(std::ceil(t.blocks / r.cores) * r.cores / t.blocks);
  // A reduction may be split where there are fewer blocks than cores.
  return t.blocks < r.cores && r.reduces ? std::min(whole_us, in_waves(1) + r.launch_us) : whole_us;
}

}  // namespace tilescope::construct
