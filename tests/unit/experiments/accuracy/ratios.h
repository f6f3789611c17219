// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ratios of a calibration by their names.

#include <stdexcept>
#include <string>

#include "experiments/accuracy/calibrate.h"

namespace tilescope::experiments {

inline const CalibratedRatio& ratio(const CalibrationRun& run, const std::string& name) {
  for (const CalibratedRatio& r : run.ratios)
    if (r.name == name) return r;
  throw std::runtime_error("no ratio " + name);
}

}  // namespace tilescope::experiments
