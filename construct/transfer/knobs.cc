#include "construct/transfer/knobs.h"

#include <algorithm>

#include "tile/transfer/tma.h"

namespace tilescope::construct {

using tile::StageProgram;

std::int64_t max_stages(const StageProgram& p, const arch::ArchSpec& chip) {
  // Far with TMA, which costs those who compute nothing; less far with copies past the registers, which cost issue
  // slots. Other copies hold one step ahead, in registers (docs/kernel.md), and can do no more.
  constexpr std::int64_t kOfTma = 8, kPastRegisters = 4, kOfRegisters = 2;
  if (p.in_boxes()) return kOfTma;
  return chip.core.async_copy ? kPastRegisters : kOfRegisters;
}

StageProgram copied_by_threads(StageProgram p) {
  for (tile::OperandPlan& plan : p.operands) plan.box = 0;
  return p;
}

std::optional<StageProgram> brought_by_engine(const StageProgram& p, const arch::ArchSpec& chip) {
  return tile::with_boxes(p, chip);
}

std::vector<StageProgram> other_transfers(const StageProgram& p, const LayoutRules& rules) {
  if (p.in_boxes()) return {laid_out(copied_by_threads(p), rules)};
  std::optional<StageProgram> brought = brought_by_engine(p, rules.arch);
  return brought ? std::vector<StageProgram>{std::move(*brought)} : std::vector<StageProgram>{};
}

bool chooses_rows(const StageProgram& p) { return !p.in_boxes(); }

}  // namespace tilescope::construct
