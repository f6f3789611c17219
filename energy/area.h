// SPDX-License-Identifier: Apache-2.0
#pragma once
// The area of a chip's die by its parts. Every part is a count of what is built times an area:
//
//   logic        transistors / density of the process
//   SRAM         bits of cells / array efficiency x area of a cell (energy/arrays.h)
//   PHYs         mm2, in any process
//
// The transistor counts are LLMCompass's, which it derived from the dies of an A100 and an MI210
// (PrincetonUniversity/LLMCompass, cost_model). A core has schedulers, lanes, matrix units, registers, and its cache
// and scratchpad; a port connects it with the caches of the device. The crossbar between lanes and banks grows with the
// square of the banks. What is built counts, not what a board enables.
//
// Ignores: texture and graphics units of a core, ports that a cluster shares, slices and width of the L2, wiring.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/describe.h"
#include "base/diagnostics.h"
#include "energy/technology.h"

namespace tilescope::energy {

struct AreaPart {
  std::string group;  // cores, interconnect, caches, memory, links, other
  std::string part;
  double mm2 = 0;  // of all dies
  double share = 0;
  std::string rule, source;
};

template <class V>
void describe(V& v, base::Is<AreaPart> auto& row) {
  v.field({"group", "", "What the part belongs to: cores, interconnect, caches, memory, links or other."}, row.group);
  v.field({"part", "", "A part of the die."}, row.part);
  v.field({"mm2", "mm2", "Area of the part, on all dies."}, row.mm2);
  v.field({"share", "", "Area of the part over the sum of the parts."}, row.share);
  v.field({"rule", "", "How the figure follows from the chip and the technology data."}, row.rule);
  v.field({"source", "", "Sources of the figures in the rule, each with its mark."}, row.source);
}

struct DieArea {
  std::string die, node;
  std::int64_t dies = 1;
  std::int64_t built_cores = 0, enabled_cores = 0;  // on all dies
  std::vector<AreaPart> parts;
  double total_mm2 = 0;  // of all dies
  double die_mm2 = 0;    // of one
  // Of one die, as published; absent where the file states none or overrides changed the chip.
  std::optional<double> stated_mm2;
  std::optional<double> difference;       // die_mm2 / stated_mm2 - 1
  std::optional<double> million_per_mm2;  // published transistors over published area
};

template <class V>
void describe(V& v, base::Is<DieArea> auto& row) {
  v.field({"die", "", "Name of the die."}, row.die);
  v.field({"node", "", "Process of the die."}, row.node);
  v.field({"dies", "", "Equal dies of the chip."}, row.dies);
  v.field({"built_cores", "", "Cores that are built, on all dies."}, row.built_cores);
  v.field({"enabled_cores", "", "Cores that the chip has."}, row.enabled_cores);
  v.list({"parts", "", "The parts of all dies."}, row.parts);
  v.field({"total_mm2", "mm2", "Sum of the parts."}, row.total_mm2);
  v.field({"die_mm2", "mm2", "Area of one die."}, row.die_mm2);
  v.field({"stated_mm2", "mm2", "Published area of one die."}, row.stated_mm2);
  v.field({"difference", "", "Sum of the parts of one die over its published area, minus one."}, row.difference);
  v.field({"million_per_mm2", "", "Millions of published transistors a published mm2."}, row.million_per_mm2);
}

// The area of the chip's dies; nullopt after errors: no `die` (reported at `chip`), a node, interface or link that the
// technology data does not know, a level or links among cores that have no rule. A note says by how much the parts of a
// die are larger than its published area.
std::optional<DieArea> area_of(const arch::ArchSpec& a, const Technology& technology, base::Position chip,
                               base::Diagnostics& diags);

// Area of all parts of a group.
double area_of_group(const DieArea& area, std::string_view group);

}  // namespace tilescope::energy
