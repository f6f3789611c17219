// SPDX-License-Identifier: Apache-2.0
#pragma once
// How two chips differ: by the paths that --set and sweeps take, in what they cost, and in how long they take for the
// operators of a suite.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/counts.h"
#include "api/common/progress.h"
#include "api/common/time_changes.h"
#include "api/compile.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// One value that differs; null on the side that lacks the path. `derived`: it follows from other values of the chip.
struct ChipDifference {
  std::string path;
  base::Value left, right;
  bool derived = false;
};

// All differences, in the order of the left chip's document, then the values that only the right chip has. Entries of a
// list are matched by their names if they have names. Names, titles and provenance count like other values.
std::vector<ChipDifference> differences_of(const arch::ArchSpec& left, const arch::ArchSpec& right);

// A part of what a chip or its work costs; nothing where a chip has no such part.
struct CostPart {
  std::string part;
  std::optional<double> left, right;
};

// A cost of two chips by part: energy, area or price.
struct CostDifference {
  std::string unit;  // uj, mm2, usd
  std::vector<CostPart> parts;
  std::string why;  // why it is not known; then there are no parts

  double left() const;  // sums of the parts
  double right() const;
};

CostDifference area_difference(const arch::ArchSpec& left, const arch::ArchSpec& right);
CostDifference price_difference(const arch::ArchSpec& left, const arch::ArchSpec& right);

// The energy of one chip for a workload, or why there is none.
struct EnergyOf {
  std::vector<NamedNumber> parts;  // uJ
  std::string why;
};

CostDifference energy_difference(const EnergyOf& left, const EnergyOf& right);

// {"left_UNIT", "right_UNIT", "parts": [{"part", "left_UNIT", "right_UNIT"}]}, or {"why"}.
base::Value to_document(const CostDifference& cost);

// How the time and the energy of a workload differ between two chips, each with its own programs.
struct WorkDifference {
  TimeChange time;
  CostDifference energy;
};

// The same for the operators of a suite, or for one operator, each by its best program for either chip. `progress`
// counts operators of both chips. Nullopt after errors in the workload, or where a chip lacks what it asks for.
std::optional<WorkDifference> diff_workload(const Workload& workload, const arch::ArchSpec& left,
                                            const arch::ArchSpec& right, int jobs, const Progress& progress,
                                            base::Diagnostics& diags);

// {"left": NAME, "right": NAME, "differences": [{"path", "left", "right", "derived"}]}.
base::Value to_document(const std::vector<ChipDifference>& differences, const arch::ArchSpec& left,
                        const arch::ArchSpec& right);

}  // namespace tilescope::api
