// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope measure --microbench`: what `simulate --microbench` measures on the simulation, on the chip itself.

#include <optional>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "experiments/measure/measure.h"
#include "experiments/microbench/simulate.h"

namespace tilescope::experiments {

struct MeasuredCurves {
  base::Value device;                   // null in a dry run
  std::vector<MicrobenchmarkRow> rows;  // `y` is measured; nothing where it was not
  std::string csv;                      // what `calibrate --microbench` reads, of the rows that have one
  bool finished = true;
};

// `wanted` as run_microbenchmarks has it. Nothing after errors, as `measure`.
std::optional<MeasuredCurves> measure_microbenchmarks(const std::vector<std::string>& wanted, const arch::ArchSpec& a,
                                                      const MeasureOptions& options, const api::Progress& progress,
                                                      base::Diagnostics& diags);

}  // namespace tilescope::experiments
