#include "construct/tiles.h"

#include <algorithm>
#include <functional>

#include "arch/derive.h"
#include "base/integer.h"
#include "tile/align.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::TileSpace;

constexpr std::int64_t kWidestRegisterExtent = 32;  // of one axis; a longer one leaves no registers for the others
constexpr std::size_t kMostTiles = 96;              // visited per level; the reuse score decides which come first
constexpr std::size_t kMostRegisterTiles = 16;      // that blocks are grown over
constexpr double kClearlyLess = 0.75;
constexpr double kWorthIt = 0.9;  // of the traffic, after doubling one axis of a single element

// A thread keeps the elements that it reads; a block stages the whole box that holds them.
enum class Level : std::uint8_t { kThread, kBlock };

double elements_of(const TileSpace& space, const Extents& tile, Level level) {
  double sum = 0;
  for (const tile::Operand& o : space.inputs)
    sum += level == Level::kThread ? tile::touched_elements(o, tile)
                                   : static_cast<double>(tile::data_tile_elements(o, tile));
  return sum;
}

// Elements moved through a level by the whole stage: inputs once per tile and reduction step, the output once per tile.
double traffic_of(const TileSpace& space, const Extents& tile, Level level) {
  double tiles = 1, steps = 1;
  for (std::size_t a = 0; a < space.axes.size(); ++a)
    (a < space.spatial ? tiles : steps) *= static_cast<double>(base::ceil_div(space.axes[a].extent, tile[a]));
  return tiles *
         (steps * elements_of(space, tile, level) + static_cast<double>(tile::data_tile_elements(space.output, tile)));
}

// Whether growing any axis saves traffic: without, a tile has nothing to reuse.
bool has_reuse(const TileSpace& space) {
  Extents one(space.axes.size(), 1);
  const double before = traffic_of(space, one, Level::kThread);
  for (std::size_t a = 0; a < space.spatial; ++a) {
    Extents two = one;
    two[a] = std::min<std::int64_t>(2, space.axes[a].extent);
    if (traffic_of(space, two, Level::kThread) < before * kWorthIt) return true;
  }
  return false;
}

// Grows a tile one axis at a time and visits every tile once, the successor that saves most traffic per element of
// footprint first.
class Growth {
 public:
  using Successor = std::function<std::int64_t(const Extents&, std::size_t axis)>;  // next extent; 0: none
  using Footprint = std::function<double(const Extents&)>;                          // negative: does not fit

  Growth(const TileSpace& space, Level level, Successor next, Footprint footprint)
      : space_(space), level_(level), next_(std::move(next)), footprint_(std::move(footprint)) {
    tiles_.reserve(kMostTiles);
  }

  std::vector<LevelTile> from(const Extents& first) {
    const double footprint = footprint_(first);
    if (footprint >= 0) enlarge({first, traffic_of(space_, first, level_), footprint});
    return std::move(tiles_);
  }

 private:
  bool visited(const Extents& e) const {
    return std::any_of(tiles_.rbegin(), tiles_.rend(), [&](const LevelTile& t) { return t.extents == e; });
  }

  void enlarge(const LevelTile& tile) {
    tiles_.push_back(tile);
    struct Step {
      double score;
      LevelTile to;
    };
    base::FixedVector<Step, tile::kMaxAxes> steps;
    for (std::size_t a = 0; a < space_.spatial; ++a) {
      const std::int64_t n = next_(tile.extents, a);
      if (n == 0) continue;
      LevelTile to{tile.extents, 0, 0};
      to.extents[a] = n;
      to.footprint = footprint_(to.extents);
      if (to.footprint < 0) continue;
      to.traffic = traffic_of(space_, to.extents, level_);
      steps.push_back({(tile.traffic - to.traffic) / std::max(1.0, to.footprint - tile.footprint), to});
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.score > b.score; });
    for (const Step& s : steps) {
      if (tiles_.size() >= kMostTiles) return;
      if (!visited(s.to.extents)) enlarge(s.to);
    }
  }

  const TileSpace& space_;
  Level level_;
  Successor next_;
  Footprint footprint_;
  std::vector<LevelTile> tiles_;  // all that were visited
};

// Drops a tile where another one of at most its footprint moves clearly less. Keeps the order of growth.
std::vector<LevelTile> undominated(const std::vector<LevelTile>& tiles) {
  std::vector<std::pair<double, double>> front;  // footprint, least traffic up to it
  for (const LevelTile& t : tiles) front.emplace_back(t.footprint, t.traffic);
  std::sort(front.begin(), front.end());
  for (std::size_t i = 1; i < front.size(); ++i) front[i].second = std::min(front[i].second, front[i - 1].second);
  std::vector<LevelTile> out;
  for (const LevelTile& t : tiles) {
    const auto after = std::upper_bound(front.begin(), front.end(), t.footprint,
                                        [](double footprint, const auto& f) { return footprint < f.first; });
    if (t.traffic * kClearlyLess <= std::prev(after)->second) out.push_back(t);
  }
  return out;
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

// The next number of threads along an axis after `threads`: a power of two, or what cuts the axis into few equal parts.
std::int64_t next_threads(std::int64_t length, std::int64_t serial, std::int64_t threads, std::int64_t most) {
  const std::int64_t whole = base::ceil_div(length, serial);
  std::int64_t best = 0;
  const auto offer = [&](std::int64_t n) {
    if (n > threads && n <= std::min(whole, most) && (best == 0 || n < best)) best = n;
  };
  std::int64_t power = 1;
  while (power <= threads) power *= 2;
  offer(power);
  constexpr std::int64_t kMostParts = 6;
  for (std::int64_t parts = 1; parts <= kMostParts; ++parts) offer(base::ceil_div(whole, parts));
  return best;
}

}  // namespace

GrowthLimits growth_limits(const arch::ArchSpec& a) {
  GrowthLimits g;
  const arch::LevelSpec* registers = arch::registers_of(a);
  const arch::LevelSpec* scratchpad = arch::scratchpad_of(a);
  const arch::LevelSpec* cache = arch::device_cache_of(a);
  const std::int64_t all = arch::registers_per_core(*registers);
  // At least a warp on every partition has to fit beside its bookkeeping.
  g.register_elements = std::min(registers->per_thread.value_or(all), all / (a.core.warp * a.core.partitions)) * 3 / 4;
  g.staged_bytes = arch::scratchpad_per_block(*scratchpad).n;
  g.max_threads = a.core.max_block_threads;
  g.warp = a.core.warp;
  g.transaction = arch::transaction_of(cache == nullptr ? *arch::dram_of(a) : *cache);
  g.max_access = arch::widest_access_of(a);
  return g;
}

Extents first_step(const TileSpace& space, const GrowthLimits& limits) {
  Extents step(space.axes.size(), 1);
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(space);
  const std::int64_t element = base::size_of(space.expression.dtype).n;
  const std::int64_t elements = std::max<std::int64_t>(1, limits.transaction.n / element);
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) {
    const std::int64_t n = space.axes[a].extent;
    step[a] = a == longest || n <= elements ? std::min(n, elements) : 1;
  }
  return step;
}

std::vector<LevelTile> register_tiles(const TileSpace& space, const GrowthLimits& limits) {
  Extents one(space.axes.size(), 1);
  if (!has_reuse(space)) {
    std::vector<LevelTile> out;
    const std::size_t inner = space.spatial - 1;
    const std::int64_t widest =
        std::max<std::int64_t>(1, limits.max_access.n / base::size_of(space.expression.dtype).n);
    for (std::int64_t n = 1; n <= widest && n <= std::max<std::int64_t>(1, space.axes[inner].extent); n *= 2) {
      one[inner] = n;
      out.push_back({one, traffic_of(space, one, Level::kThread), static_cast<double>(n)});
    }
    return out;
  }
  const auto next = [&](const Extents& e, std::size_t a) {
    const std::int64_t n = e[a] * 2;
    return n <= kWidestRegisterExtent && n < space.axes[a].extent * 2 ? n : 0;
  };
  const auto footprint = [&](const Extents& e) {
    const double n =
        elements_of(space, e, Level::kThread) + static_cast<double>(tile::data_tile_elements(space.output, e));
    return n <= static_cast<double>(limits.register_elements) ? n : -1.0;
  };
  return thinned(undominated(Growth(space, Level::kThread, next, footprint).from(one)), kMostRegisterTiles);
}

std::vector<LevelTile> block_tiles(const TileSpace& space, const GrowthLimits& limits, const Extents& registers,
                                   const Extents& step, double epsilon, Alignment alignment) {
  Extents first = step;
  for (std::size_t a = 0; a < space.spatial; ++a) first[a] = registers[a];
  const auto threads_of = [&](const Extents& e) {
    std::int64_t n = 1;
    for (std::size_t a = 0; a < space.spatial; ++a) n *= e[a] / registers[a];
    return n;
  };
  const auto next = [&](const Extents& e, std::size_t a) -> std::int64_t {
    const std::int64_t length = space.axes[a].extent;
    const std::int64_t most = limits.max_threads / (threads_of(e) / (e[a] / registers[a]));
    std::int64_t threads = e[a] / registers[a];
    while ((threads = next_threads(length, registers[a], threads, most)) != 0)
      if (tile::wasted_ratio(length, threads * registers[a]) <= epsilon) return threads * registers[a];
    return 0;
  };
  const bool reduces = space.axes.size() > space.spatial;
  const auto element = static_cast<double>(base::size_of(space.expression.dtype).n);
  const auto footprint = [&](const Extents& e) {
    if (threads_of(e) > limits.max_threads) return -1.0;
    const double n = elements_of(space, e, Level::kBlock);
    return !reduces || n * element <= static_cast<double>(limits.staged_bytes) ? n : -1.0;
  };
  std::vector<LevelTile> grown = Growth(space, Level::kBlock, next, footprint).from(first);
  if (alignment == Alignment::kAny) return grown;
  const auto aligned = [&](const LevelTile& t) {
    bool everything = true;  // a tile of all there is may leave a warp partly empty
    for (std::size_t a = 0; a < space.spatial; ++a) everything = everything && t.extents[a] >= space.axes[a].extent;
    if (!everything && !tile::fills_units(threads_of(t.extents), limits.warp)) return false;
    for (std::size_t a = 0; a < space.spatial; ++a)
      if (!tile::fills_transactions(space, a, t.extents[a], limits.transaction)) return false;
    return true;
  };
  std::vector<LevelTile> kept;
  std::copy_if(grown.begin(), grown.end(), std::back_inserter(kept), aligned);
  return undominated(kept);
}

}  // namespace tilescope::construct
