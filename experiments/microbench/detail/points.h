// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which points of which curves are asked for; for the .cc files of experiments/.

#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "experiments/microbench/detail/kernels.h"

namespace tilescope::experiments {

struct MicrobenchmarkPoint {
  Curve curve;
  double x = 0;
};

// `wanted` are curves, each with points where others than the usual are meant: "latency:4,64,1024"; all curves where
// none is named. Nothing where a curve or a point is not one.
std::optional<std::vector<MicrobenchmarkPoint>> microbenchmark_points(const std::vector<std::string>& wanted,
                                                                      const arch::ArchSpec& a,
                                                                      base::Diagnostics& diags);

}  // namespace tilescope::experiments
