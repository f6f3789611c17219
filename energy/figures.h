// SPDX-License-Identifier: Apache-2.0
#pragma once
// The figures of a chip's power and energy as they stand in its file and as they follow (energy/scaling.h).

#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::energy {

struct EnergyFigure {
  std::string key, stated, figure;
  double factor = 1;
  std::string rule, source;
};

template <class V>
void describe(V& v, base::Is<EnergyFigure> auto& row) {
  v.field({"key", "", "Key of the chip's file."}, row.key);
  v.field({"stated", "", "Figure in the file, with its unit."}, row.stated);
  v.field({"figure", "", "Figure that holds for the chip, with its unit."}, row.figure);
  v.field({"factor", "", "The figure over the stated one."}, row.factor);
  v.field({"rule", "", "How the figure follows from the stated one, empty where it is that."}, row.rule);
  v.field({"source", "", "Where the figure stands, and the sources of the rule, each with its mark."}, row.source);
}

// A board's figures, and what it draws at the chip's clock with nothing running.
struct EnergyFigures {
  double clock_mhz = 0, voltage_v = 0;
  double board_w = 0, leakage_w = 0, clock_tree_w = 0, rest_w = 0;
  std::optional<double> limit_w;
  std::vector<EnergyFigure> figures;
};

template <class V>
void describe(V& v, base::Is<EnergyFigures> auto& row) {
  v.field({"clock_mhz", "MHz", "Clock of the cores."}, row.clock_mhz);
  v.field({"voltage_v", "V", "Voltage of the cores at that clock."}, row.voltage_v);
  v.field({"board_w", "W", "Power of the board and the DRAM's channels at rest."}, row.board_w);
  v.field({"leakage_w", "W", "Leakage of all cores."}, row.leakage_w);
  v.field({"clock_tree_w", "W", "Power of the clock tree of all cores."}, row.clock_tree_w);
  v.field({"rest_w", "W", "Power of the board with nothing running."}, row.rest_w);
  v.field({"limit_w", "W", "Power that the board keeps to by a lower clock."}, row.limit_w);
  v.list({"figures", "", "Figures of `power` and `energy`."}, row.figures);
}

// The figures of a chip; nullopt after errors at `chip`: no `power` or no `energy`, a curve that ends below the chip's
// clock, a process without a rule.
std::optional<EnergyFigures> figures_of(const arch::ArchSpec& a, base::Position chip, base::Diagnostics& diags);

}  // namespace tilescope::energy
