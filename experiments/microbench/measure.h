// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope measure --microbench`: the microbenchmarks of `simulate --microbench`, measured on the chip itself.

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
  std::vector<MicrobenchmarkRow> rows;  // `y` is the measured value; nullopt where it was not measured
  std::string csv;                      // input of `calibrate --microbench`, from the rows that have a value
  bool finished = true;
};

// `wanted` is as for run_microbenchmarks. Returns nullopt after errors, as `measure` does.
std::optional<MeasuredCurves> measure_microbenchmarks(const std::vector<std::string>& wanted, const arch::ArchSpec& a,
                                                      const MeasureOptions& options, const api::Progress& progress,
                                                      base::Diagnostics& diags);

}  // namespace tilescope::experiments
