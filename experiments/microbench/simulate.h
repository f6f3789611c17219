// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope simulate --microbench`: microbenchmarks of the chip, measured on its simulation.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/progress.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

// One point of a curve. Where y_unit is cycles, `y` is per access of a warp.
struct MicrobenchmarkRow {
  std::string curve, x_unit, y_unit;
  double x = 0;
  std::optional<double> y;  // nullopt where the chip cannot run it
  double cpu_seconds = 0;
  std::string error;
};

// Header of files with measured points, one per line.
inline constexpr std::string_view kMicrobenchmarkHeader = "chip,curve,x,unit,measured,board,source";

// Names of all curves, for messages.
std::vector<std::string> curve_names();

// Simulates microbenchmarks. `wanted` lists curves, each optionally with its own points instead of the default ones:
// "latency:4,64,1024"; an empty list means all curves. Every point is simulated in full in a worker process, `jobs` at
// a time; the result does not depend on their number. Returns nullopt where a curve or a point is invalid.
std::optional<std::vector<MicrobenchmarkRow>> run_microbenchmarks(const std::vector<std::string>& wanted,
                                                                  const arch::ArchSpec& a, int jobs,
                                                                  const api::Progress& progress,
                                                                  base::Diagnostics& diags);

// {"chip":...,"rows":[{"curve","x","x_unit","simulated","unit" | "error"}]}, where `y` is the key of the value.
base::Value to_document(const std::vector<MicrobenchmarkRow>& rows, const arch::ArchSpec& a,
                        std::string_view y = "simulated");

}  // namespace tilescope::experiments
