// SPDX-License-Identifier: Apache-2.0
#include "tile/detail/group_areas.h"

#include <algorithm>
#include <bitset>
#include <vector>

#include "arch/derive.h"
#include "base/integer.h"
#include "tile/microkernel/rules.h"
#include "tile/staging.h"
#include "tile/transfer/tma.h"

namespace tilescope::tile {
namespace {

// Between two barriers of the kernel lies a phase, and more than these there are not.
constexpr std::size_t kMaxPhases = 64;
using Phases = std::bitset<kMaxPhases>;
static_assert(expr::kMaxStages + 2 <= kMaxPhases);

Phases from_to(std::size_t from, std::size_t to) {
  Phases out;
  for (std::size_t phase = from; phase <= to; ++phase) out.set(phase);
  return out;
}

// By stage, the phase in which it computes; then the one in which results leave behind the last step of the loop.
// A stage of the loop whose results do not leave in it has no barrier behind it, nor has a chain of stages whose
// tensors all go on in registers: what comes next is in the phase of the chain's first stage.
std::vector<std::size_t> phases_of(const RProgram& p, const GroupLayout& layout) {
  std::vector<std::size_t> out;
  std::size_t phase = 0, leaving = 0, first = 0;
  bool barrier = true;
  for (std::size_t i = 0; i < layout.stages.size(); ++i) {
    if (has_own_tiles(p.simt()[layout.stages[i].stage])) {
      if (!barrier) phase = first;
      first = phase;
      barrier = false;
    }
    barrier = barrier || layout.stages[i].keeps_output || !layout.stages[i].holds_output;
    out.push_back(phase);
    if (!layout.loop || !layout.loop->leaves_behind(i)) ++phase;
    if (!layout.loop || i != layout.loop->last) continue;
    leaving = ++phase;
    ++phase;
  }
  out.push_back(leaving);
  return out;
}

struct Area {
  Phases phases;
  std::int64_t bytes = 0;
  base::Bytes* begin = nullptr;
};

std::vector<Area> areas_of(const RProgram& p, const arch::ArchSpec& a, GroupLayout& layout) {
  std::vector<Area> areas;
  const std::vector<std::size_t> phase = phases_of(p, layout);
  const auto& loop = layout.loop;
  for (std::size_t i = 0; i < layout.stages.size(); ++i) {
    GroupedStage& grouped = layout.stages[i];
    const StageProgram& stage = p.simt()[grouped.stage];
    const bool behind = loop && loop->leaves_behind(i);
    Phases works = from_to(phase[i], phase[i]);
    if (behind) works.set(phase.back());
    areas.push_back({works, staging_of(stage, a.core).bytes.n, &grouped.staging});
    if (loop && loop->coefficient(i) && !holds_rows(stage))
      areas.push_back({from_to(phase[i], phase[loop->last]),
                       base::size_of(stage.space->expression.accumulate).n * kept_elements(stage), &grouped.factors});
    if (!grouped.keeps_output) continue;
    const std::size_t from = behind ? phase.back() : phase[i];
    std::size_t to = from;
    for (std::size_t c = i + 1; c < layout.stages.size(); ++c) {
      const std::vector<int>& kept = layout.stages[c].kept_inputs;
      if (std::count(kept.begin(), kept.end(), static_cast<int>(i)) == 0) continue;
      // What was there before the loop is read in all its steps.
      const bool all_steps = loop && loop->has(c) && !loop->has(i);
      to = std::max(to, all_steps ? phase[loop->last] : phase[c]);
    }
    areas.push_back({from_to(from, to), kept_elements(stage) * stage.space->output.element.n, &grouped.kept});
  }
  return areas;
}

}  // namespace

void place_areas(const RProgram& p, const arch::ArchSpec& a, GroupLayout& layout) {
  std::vector<Area> areas = areas_of(p, a, layout);
  std::stable_sort(areas.begin(), areas.end(), [](const Area& x, const Area& y) { return x.bytes > y.bytes; });
  std::int64_t alignment = std::max(arch::widest_access_of(a).n, kStagingAlignment);
  for (const GroupedStage& s : layout.stages)
    alignment = std::max(alignment, base::round_up(tma_staging(p.simt()[s.stage], a.core).alignment.n, alignment));
  std::vector<Area> placed;
  for (const Area& area : areas) {
    if (area.bytes == 0) continue;
    std::int64_t begin = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Area& other : placed) {
        const std::int64_t end = other.begin->n + other.bytes;
        if ((other.phases & area.phases).none() || end <= begin || begin + area.bytes <= other.begin->n) continue;
        begin = base::round_up(end, alignment);
        moved = true;
      }
    }
    *area.begin = {begin};
    layout.bytes = std::max(layout.bytes, base::Bytes{begin + area.bytes});
    placed.push_back(area);
  }
}

}  // namespace tilescope::tile
