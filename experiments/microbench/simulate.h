// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope simulate --microbench`: what one would measure on the chip, measured on its simulation.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/progress.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

// One point of a curve. `y` is of one access of a warp where y_unit is cycles.
struct MicrobenchmarkRow {
  std::string curve, x_unit, y_unit;
  double x = 0;
  std::optional<double> y;  // nothing where the chip cannot run it
  double cpu_seconds = 0;
  std::string error;
};

// Of files of measured points, a line each.
inline constexpr std::string_view kMicrobenchmarkHeader = "chip,curve,x,unit,measured,board,source";

// Names of all curves, for people.
std::vector<std::string> curve_names();

// `wanted` are curves, each with points where others than the usual are meant: "latency:4,64,1024"; all curves where
// none is named. Every point is simulated in full in a worker process, `jobs` at a time; the result does not depend on
// their number. Nothing where a curve or a point is not one.
std::optional<std::vector<MicrobenchmarkRow>> run_microbenchmarks(const std::vector<std::string>& wanted,
                                                                  const arch::ArchSpec& a, int jobs,
                                                                  const api::Progress& progress,
                                                                  base::Diagnostics& diags);

// {"chip":...,"rows":[{"curve","x","x_unit","simulated","unit" | "error"}]}, the value under the name `y`.
base::Value to_document(const std::vector<MicrobenchmarkRow>& rows, const arch::ArchSpec& a,
                        std::string_view y = "simulated");

}  // namespace tilescope::experiments
