// SPDX-License-Identifier: Apache-2.0
#include "construct/microkernel/detail/knobs.h"

#include <algorithm>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "construct/detail/tiles.h"
#include "tile/align.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::construct {

using tile::StageProgram;

// No padding, one bank, one vector, rule 3 of tile/align.h, and rotations by a bank or a vector.
RowPlacements row_placements(const tile::Fma& /*kernel*/, const StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip) {
  const arch::ScratchpadLevel& scratchpad = *arch::scratchpad_of(chip);
  const tile::Operand& o = p.space->inputs[operand];
  const std::int64_t row = tile::data_tile(o, p.block).back();
  const std::int64_t bank = elements_in(scratchpad.bank_width, o.element);
  const std::int64_t widest = elements_in(arch::widest_access_of(chip), o.element);
  const std::int64_t by_rule = tile::bank_padding(row, 1, scratchpad.banks, bank);
  RowPlacements out = {{0, 0}, {bank, 0}, {widest, 0}, {by_rule, 0}, {0, bank}, {0, widest}};
  std::sort(out.begin() + 1, out.begin() + 4,
            [](const RowPlacement& a, const RowPlacement& b) { return a.padding < b.padding; });
  return out;
}

// Lanes that read pieces of a row each meet no conflict where rows are so far apart.
RowPlacements row_placements(const tile::Mma& /*kernel*/, const StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip) {
  RowPlacements out = row_placements(tile::Fma{}, p, operand, chip);
  const base::Bytes element = p.space->inputs[operand].element, max_access = arch::widest_access_of(chip);
  const std::int64_t bank = elements_in(arch::scratchpad_of(chip)->bank_width, element);
  const std::int64_t read = tile::fragment_read(p, operand, max_access).run;
  if (read > bank && read != elements_in(max_access, element))
    for (const RowPlacement& more : {RowPlacement{read, 0}, RowPlacement{0, read}}) out.push_back(more);
  return out;
}

RowPlacements row_placements(const tile::Wgmma& /*kernel*/, const StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& /*chip*/) {
  return {{0, 0}, {tile::core_padding(p, operand), 0}};
}

RowPlacements row_placements(const tile::Tcgen05& /*kernel*/, const StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& /*chip*/) {
  return {{0, 0}, {tile::core_padding(p, operand), 0}};
}

RowPlacements row_placements(const tile::Epilogue& /*kernel*/, const StageProgram& /*p*/, std::size_t /*operand*/,
                             const arch::ArchSpec& /*chip*/) {
  return {{}};
}
RowPlacements row_placements(const tile::RowReduction& /*kernel*/, const StageProgram& /*p*/, std::size_t /*operand*/,
                             const arch::ArchSpec& /*chip*/) {
  return {{}};
}

}  // namespace tilescope::construct
