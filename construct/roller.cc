#include "construct/roller.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/layout.h"
#include "construct/tiles.h"
#include "tile/fit.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;
using tile::TileSpace;
using SpacePtr = std::shared_ptr<const TileSpace>;

// How many tiles are worth trying other layouts on.
constexpr std::size_t kLaidOut = 24;
// Shares of an axis that tiles may waste, tried in this order. ROLLER's artifact goes from 0 to 1 in steps of 0.2, of
// 0.1 without reuse; what wastes nothing is among the tiles of the first share here.
constexpr std::array kEpsilons = {0.1, 0.2, 0.4, 0.6, 0.8, 1.0};

// The ways to fuse a stage's loops: as a matrix product where it is one, and as it is.
std::vector<SpacePtr> spaces_of(const expr::Expression& e) {
  std::vector<SpacePtr> out;
  if (const auto fusion = tile::contraction_fusion(e)) out.push_back(tile::make_space(e, *fusion));
  out.push_back(tile::make_space(e, tile::contiguous_fusion(e)));
  return out;
}

// Elements of a register tile are strided over the threads, so that neighbouring threads touch neighbouring words
// (ROLLER's virtual threads); without reuse the innermost axis is kept whole for wide accesses.
StageProgram program_of(const SpacePtr& space, const GrowthLimits& limits, const Extents& registers,
                        const Extents& block) {
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space->spatial; ++a) {
    const bool serial = space->axes.size() == space->spatial && a + 1 == space->spatial;
    mapping.push_back({serial ? 1 : registers[a], block[a] / registers[a], serial ? registers[a] : 1});
  }
  return tile::make_stage_program(space, mapping, block, limits.max_access);
}

class Ranking {
 public:
  Ranking(const arch::ArchSpec& a, const Judge& judge) : arch_(a), judge_(judge), asked_{a.name, {{}}, {}} {}

  void add(StageProgram p) {
    if (!tile::fits(p, arch_)) return;
    asked_.stages[0] = std::move(p);
    const base::Microseconds time = judge_(asked_);
    if (time.v < std::numeric_limits<double>::infinity()) programs_.push_back({std::move(asked_.stages[0]), time});
  }

  // Whether a program of these tiles was added.
  bool has_tiles(const SpacePtr& space, const Extents& registers, const Extents& block) const {
    return std::any_of(programs_.begin(), programs_.end(), [&](const Ranked& r) {
      return r.program.space == space && r.program.block == block && r.program.thread == registers;
    });
  }

  // The best ones of distinct tiles, best first; equal times keep the order of construction.
  std::vector<Ranked> best(std::size_t keep) const {
    std::vector<const Ranked*> in_order;
    for (const Ranked& r : programs_) in_order.push_back(&r);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const Ranked* a, const Ranked* b) { return a->time < b->time; });
    std::vector<Ranked> out;
    for (const Ranked* r : in_order) {
      if (out.size() >= keep) break;
      const bool seen = std::any_of(out.begin(), out.end(), [&](const Ranked& o) { return same_tiles(o, *r); });
      if (!seen) out.push_back(*r);
    }
    return out;
  }

 private:
  static bool same_tiles(const Ranked& a, const Ranked& b) {
    const StageProgram &p = a.program, &q = b.program;
    return p.space == q.space && p.block == q.block && p.thread == q.thread;
  }

  const arch::ArchSpec& arch_;
  const Judge& judge_;
  tile::RProgram asked_;         // reused: one stage, replaced for every question
  std::deque<Ranked> programs_;  // in the order of construction
};

// The block tile that is given over a register tile; nothing where it does not cut it.
std::vector<LevelTile> given_tile(const TileSpace& space, const Extents& registers, const Extents& step,
                                  const std::vector<std::int64_t>& block) {
  if (block.size() != space.spatial) return {};
  Extents e = step;
  for (std::size_t a = 0; a < space.spatial; ++a) {
    if (block[a] % registers[a] != 0) return {};
    e[a] = block[a];
  }
  return {{e, 0, 0}};
}

void add_tiles(const SpacePtr& space, const GrowthLimits& limits, double epsilon, const Restrictions& given,
               Ranking& ranking) {
  const Extents step = first_step(*space, limits);
  for (const LevelTile& registers : register_tiles(*space, limits))
    for (const LevelTile& block : given.block.empty() ? block_tiles(*space, limits, registers.extents, step, epsilon)
                                                      : given_tile(*space, registers.extents, step, given.block))
      if (!ranking.has_tiles(space, registers.extents, block.extents))
        ranking.add(program_of(space, limits, registers.extents, block.extents));
}

// For what no aligned tile covers: any tile of single elements, straight from memory. Slow, but a program.
void add_unaligned(const SpacePtr& space, GrowthLimits limits, Ranking& ranking) {
  limits.staged_bytes = std::numeric_limits<std::int64_t>::max();
  const Extents one(space->axes.size(), 1);
  for (const LevelTile& block :
       block_tiles(*space, limits, one, first_step(*space, limits), kEpsilons.back(), Alignment::kAny)) {
    StageProgram p = program_of(space, limits, one, block.extents);
    for (std::size_t i = 0; i < space->inputs.size(); ++i) p.operands[i] = {};
    ranking.add(std::move(p));
  }
}

}  // namespace

std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, const Judge& judge,
                           std::size_t keep, const Restrictions& given) {
  const GrowthLimits limits = growth_limits(a);
  const std::vector<SpacePtr> spaces = spaces_of(one_stage);
  // Irregular shapes: relax how much of an axis a tile may waste until there are enough programs.
  Ranking tiles(a, judge);
  for (const double epsilon : kEpsilons) {
    for (const SpacePtr& space : spaces) add_tiles(space, limits, epsilon, given, tiles);
    if (tiles.best(keep).size() >= keep || !given.block.empty()) break;
  }

  if (tiles.best(1).empty() && given.block.empty())
    for (const SpacePtr& space : spaces) add_unaligned(space, limits, tiles);

  Ranking laid_out(a, judge);
  for (const Ranked& r : tiles.best(std::max(kLaidOut, keep)))
    for (StageProgram& p : layouts_of(r.program, a, given.pads)) laid_out.add(std::move(p));
  return laid_out.best(keep);
}

}  // namespace tilescope::construct
