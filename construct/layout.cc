#include "construct/layout.h"

#include <algorithm>
#include <array>

#include "arch/derive.h"
#include "model/staged_use.h"
#include "tile/align.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;

// Passes that one block needs for one operand over one reduction step: copies and uses.
double passes_of(const StageProgram& p, std::size_t i, const arch::ArchSpec& a, const arch::LevelSpec& scratchpad) {
  const model::StagedUse use = model::staged_use(p, i, a.core.warp, arch::widest_access_of(a));
  const auto passes = [&](const model::WarpAccess& access) {
    return static_cast<double>(model::bank_passes(access, scratchpad.banks, scratchpad.bank_width.n));
  };
  return use.writes * passes(use.write) + use.reads * passes(use.read);
}

// Steps of the longest reduced axis: as it is, and up to four times, as far as the axis goes.
std::vector<Extents> steps_of(const StageProgram& p) {
  std::vector<Extents> out = {p.block};
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
  if (!longest) return out;
  for (const std::int64_t times : {2, 4}) {
    Extents e = p.block;
    e[*longest] = std::min(e[*longest] * times, p.space->axes[*longest].extent);
    if (e[*longest] != out.back()[*longest]) out.push_back(e);
  }
  return out;
}

// Threads that own elements one stride apart, and threads that own `serial` neighbours along the innermost axis.
std::vector<base::FixedVector<tile::AxisMapping, tile::kMaxAxes>> mappings_of(const StageProgram& p,
                                                                              std::int64_t widest) {
  std::vector<base::FixedVector<tile::AxisMapping, tile::kMaxAxes>> out = {p.mapping};
  const std::size_t inner = p.space->spatial - 1;
  const std::int64_t kept = p.mapping[inner].thread_extent();
  for (std::int64_t serial = 2; serial <= std::min(widest, kept); serial *= 2) {
    if (kept % serial != 0) break;
    auto m = p.mapping;
    m[inner].serial = serial;
    m[inner].virtual_threads = kept / serial;
    if (!(m[inner] == p.mapping[inner])) out.push_back(m);
  }
  return out;
}

}  // namespace

void pad_for_banks(StageProgram& p, const arch::ArchSpec& a) {
  const arch::LevelSpec& scratchpad = *arch::scratchpad_of(a);
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.operands[i].staged) continue;
    const tile::Operand& o = p.space->inputs[i];
    const std::int64_t row = tile::data_tile(o, p.block).back();
    const std::int64_t bank_elements = std::max<std::int64_t>(1, scratchpad.bank_width.n / o.element.n);
    const std::int64_t widest = std::max<std::int64_t>(1, arch::widest_access_of(a).n / o.element.n);
    double fewest = 0;
    tile::OperandPlan best;
    std::array<std::int64_t, 4> paddings = {0, bank_elements, widest,
                                            tile::bank_padding(row, 1, scratchpad.banks, bank_elements)};
    std::sort(paddings.begin(), paddings.end());  // of equal passes the smallest is kept
    for (const std::int64_t padding : paddings) {
      p.operands[i].padding = padding;
      p.operands[i].vector = tile::widest_vector(o, p.block, padding, arch::widest_access_of(a));
      const double passes = passes_of(p, i, a, scratchpad);
      if (!best.staged || passes < fewest) {
        fewest = passes;
        best = p.operands[i];
      }
    }
    p.operands[i] = best;
  }
}

std::vector<StageProgram> layouts_of(const StageProgram& p, const arch::ArchSpec& a, bool pads) {
  std::vector<StageProgram> out;
  const std::int64_t widest = arch::widest_access_of(a).n / base::size_of(p.space->expression.dtype).n;
  for (const Extents& step : steps_of(p)) {
    for (const auto& mapping : mappings_of(p, widest)) {
      StageProgram q = tile::make_stage_program(p.space, mapping, step, arch::widest_access_of(a));
      if (pads) pad_for_banks(q, a);
      out.push_back(q);
      // Straight from memory instead: no barriers, no copy.
      if (p.space->axes.size() == p.space->spatial) continue;
      StageProgram direct = q;
      for (std::size_t i = 0; i < p.space->inputs.size(); ++i) direct.operands[i] = {false, 0, 1};
      out.push_back(direct);
    }
  }
  return out;
}

}  // namespace tilescope::construct
