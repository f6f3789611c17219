#include "construct/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "arch/derive.h"
#include "base/integer.h"
#include "model/staged_use.h"
#include "tile/align.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;
using Mapping = base::FixedVector<tile::AxisMapping, tile::kMaxAxes>;

// Bank passes that one block needs for one operand over one reduction step, copies and uses, and what they would be
// without conflicts.
struct Passes {
  double needed = 0, least = 0;
};

Passes passes_of(const StageProgram& p, std::size_t i, const arch::ArchSpec& a, const arch::LevelSpec& scratchpad) {
  const model::StagedUse use = model::staged_use(p, i, a.core.warp, arch::widest_access_of(a));
  const model::BankUse write = model::bank_use(use.write, scratchpad.banks, scratchpad.bank_width.n);
  const model::BankUse read = model::bank_use(use.read, scratchpad.banks, scratchpad.bank_width.n);
  return {use.writes * static_cast<double>(write.passes) + use.reads * static_cast<double>(read.passes),
          use.writes * static_cast<double>(write.groups) + use.reads * static_cast<double>(read.groups)};
}

// Sets padding, rotation and vector of a staged operand to those that need fewest passes, the first of equal ones.
void place_rows(StageProgram& p, std::size_t i, const LayoutRules& rules) {
  const arch::LevelSpec& scratchpad = *arch::scratchpad_of(rules.arch);
  const base::Bytes max_access = arch::widest_access_of(rules.arch);
  const tile::Operand& o = p.space->inputs[i];
  const std::int64_t row = tile::data_tile(o, p.block).back();
  const std::int64_t bank = std::max<std::int64_t>(1, scratchpad.bank_width.n / o.element.n);
  const std::int64_t widest = std::max<std::int64_t>(1, max_access.n / o.element.n);
  struct Placement {
    std::int64_t padding, swizzle;
  };
  std::array<Placement, 6> placements = {{{0, 0},
                                          {bank, 0},
                                          {widest, 0},
                                          {tile::bank_padding(row, 1, scratchpad.banks, bank), 0},
                                          {0, bank},
                                          {0, widest}}};
  std::sort(placements.begin() + 1, placements.begin() + 4,
            [](const Placement& a, const Placement& b) { return a.padding < b.padding; });
  double fewest = 0;
  tile::OperandPlan best;
  for (const Placement& at : placements) {
    p.operands[i].padding = at.padding;
    p.operands[i].swizzle = at.swizzle;
    p.operands[i].vector = tile::default_vector(p, i, max_access);
    const Passes passes = passes_of(p, i, rules.arch, scratchpad);
    if (!best.staged || passes.needed < fewest) {
      fewest = passes.needed;
      best = p.operands[i];
    }
    if (!rules.pads || passes.needed <= passes.least) break;
  }
  p.operands[i] = best;
}

// The same program with other threads and reduction steps.
StageProgram remade(const StageProgram& p, const Mapping& mapping, const Extents& step, const LayoutRules& rules) {
  StageProgram q = tile::make_stage_program(p.space, mapping, step, arch::widest_access_of(rules.arch));
  q.thread_order = p.thread_order;
  q.order = p.order;
  q.split = p.split;
  q.pipeline = p.pipeline;
  q.raster = p.raster;
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a)
    q.thread[a] = std::gcd(p.thread[a], q.points_along(a));
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) q.operands[i].staged = p.operands[i].staged;
  return laid_out(std::move(q), rules);
}

bool stages_anything(const StageProgram& p) {
  return std::any_of(p.operands.begin(), p.operands.end(), [](const tile::OperandPlan& o) { return o.staged; });
}

// Whether neighbours along an axis lie side by side in the memory of an operand.
bool is_innermost_somewhere(const tile::TileSpace& space, std::size_t axis) {
  for (std::size_t i = 0; i < space.operand_count(); ++i) {
    const tile::Operand& o = space.operand(i);
    if (o.dims.empty()) continue;
    for (const expr::Term& t : o.dims.back().terms)
      if (t.axis == static_cast<int>(axis)) return true;
  }
  return false;
}

// Threads that own elements one stride apart, or so many neighbours.
std::vector<StageProgram> other_neighbours(const StageProgram& p, const LayoutRules& rules) {
  std::vector<StageProgram> out;
  const std::int64_t widest =
      std::max<std::int64_t>(1, arch::widest_access_of(rules.arch).n / base::size_of(p.space->expression.dtype).n);
  for (std::size_t a = 0; a < p.space->spatial; ++a) {
    if (!is_innermost_somewhere(*p.space, a)) continue;
    const std::int64_t kept = p.mapping[a].thread_extent();
    for (std::int64_t serial = 1; serial <= std::min(widest, kept) && kept % serial == 0; serial *= 2) {
      if (serial == p.mapping[a].serial) continue;
      Mapping m = p.mapping;
      m[a].serial = serial;
      m[a].virtual_threads = kept / serial;
      out.push_back(remade(p, m, p.block, rules));
    }
  }
  return out;
}

// Everything staged, nothing, or all but one.
std::vector<StageProgram> other_staging(const StageProgram& p, const LayoutRules& rules) {
  const std::size_t inputs = p.space->inputs.size();
  std::vector<StageProgram> out;
  const auto add = [&](auto&& staged) {
    StageProgram q = p;
    for (std::size_t i = 0; i < inputs; ++i) q.operands[i] = {.staged = staged(i)};
    if (!stages_anything(q)) q.pipeline = 1;
    bool same = true;
    for (std::size_t i = 0; i < inputs; ++i) same = same && q.operands[i].staged == p.operands[i].staged;
    if (!same) out.push_back(laid_out(std::move(q), rules));
  };
  if (p.space->axes.size() == p.space->spatial) return out;
  add([](std::size_t) { return true; });
  add([](std::size_t) { return false; });
  if (inputs > 1)
    for (std::size_t direct = 0; direct < inputs; ++direct) add([&](std::size_t i) { return i != direct; });
  return out;
}

// Half, twice and four times the step along the longest reduced axis.
std::vector<StageProgram> other_steps(const StageProgram& p, const LayoutRules& rules) {
  std::vector<StageProgram> out;
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
  if (!longest) return out;
  const std::int64_t most = base::ceil_div(p.space->axes[*longest].extent, p.split[*longest]);
  const std::int64_t step = p.block[*longest];
  for (const std::int64_t other : {step / 2, std::min(step * 2, most), std::min(step * 4, most)}) {
    if (other < 1 || other == step || (!out.empty() && out.back().block[*longest] == other)) continue;
    Extents e = p.block;
    e[*longest] = other;
    out.push_back(remade(p, p.mapping, e, rules));
  }
  return out;
}

// Steps under way: with copies past the registers several, else the next one in registers.
std::vector<StageProgram> other_pipelines(const StageProgram& p, const LayoutRules& rules) {
  std::vector<StageProgram> out;
  if (!stages_anything(p) || p.steps() == 1) return out;
  const std::int64_t most = rules.arch.core.async_copy ? 4 : 2;
  for (std::int64_t n = 1; n <= most; ++n) {
    if (n == p.pipeline) continue;
    StageProgram q = p;
    q.pipeline = n;
    out.push_back(std::move(q));
  }
  return out;
}

std::vector<StageProgram> other_rasters(const StageProgram& p, const LayoutRules&) {
  int long_axes = 0;
  for (std::size_t a = 0; a < p.space->spatial; ++a) long_axes += p.block[a] < p.space->axes[a].extent ? 1 : 0;
  if (long_axes < 2) return {};
  StageProgram q = p;
  q.raster = p.raster == tile::Raster::kRow ? tile::Raster::kColumn : tile::Raster::kRow;
  return {q};
}

// Parts of the reduction, until blocks are a few times as many as cores.
std::vector<StageProgram> other_splits(const StageProgram& p, const LayoutRules& rules) {
  constexpr std::int64_t kMostBlocksPerCore = 8;
  std::vector<StageProgram> out;
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
  if (!longest) return out;
  const std::int64_t blocks = p.blocks() / p.split[*longest];
  for (std::int64_t parts = 1;; parts *= 2) {
    const bool enough = parts > 1 && blocks * parts > kMostBlocksPerCore * rules.arch.core.count;
    if (enough || parts * p.block[*longest] > std::max(p.block[*longest], p.space->axes[*longest].extent)) return out;
    if (parts != p.split[*longest]) out.push_back(split_into(p, parts, rules));
  }
}

}  // namespace

StageProgram laid_out(StageProgram p, const LayoutRules& rules) {
  for (std::size_t i = 0; i < p.space->operand_count(); ++i) {
    if (p.operands[i].staged)
      place_rows(p, i, rules);
    else
      p.operands[i].vector = tile::default_vector(p, i, arch::widest_access_of(rules.arch));
  }
  return p;
}

std::span<const Choice> layout_choices() {
  static constexpr std::array<Choice, 6> kChoices = {other_neighbours, other_staging, other_steps,
                                                     other_pipelines,  other_splits,  other_rasters};
  return kChoices;
}

StageProgram split_into(const StageProgram& p, std::int64_t parts, const LayoutRules& rules) {
  StageProgram q = p;
  const std::size_t longest = tile::longest_reduced_axis(*p.space).value();
  q.split[longest] = parts;
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a)
    q.thread[a] = std::gcd(p.thread[a], q.points_along(a));
  return laid_out(std::move(q), rules);
}

}  // namespace tilescope::construct
