#include "tile/staging.h"

#include <algorithm>

#include "arch/derive.h"
#include "base/integer.h"
#include "tile/boxes.h"

namespace tilescope::tile {
namespace {

// What every element and every asynchronous copy asks for.
constexpr std::int64_t kLeastAlignment = 16;

}  // namespace

StagingLayout staging_of(const StageProgram& p, const arch::ArchSpec& a) {
  // No access of one thread straddles the beginning of a tile.
  const std::int64_t access = std::max(kLeastAlignment, arch::widest_access_of(a).n);
  const std::int64_t alignment = p.in_boxes() ? base::round_up(kBoxAlignment, access) : access;
  const std::int64_t slots = p.slots();
  StagingLayout out;
  out.begins.assign(p.space->inputs.size(), {0});
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.operands[i].staged) continue;
    const Operand& o = p.space->inputs[i];
    out.begins[i] = {base::round_up(out.bytes.n, alignment)};
    out.bytes = out.begins[i] + o.element * (data_tile_elements(o, p.block, p.operands[i].padding) * slots);
  }
  out.signals = {base::round_up(out.bytes.n, kSignalBytes)};
  if (p.in_boxes()) out.bytes = out.signals + base::Bytes{2 * kSignalBytes * slots};
  return out;
}

}  // namespace tilescope::tile
