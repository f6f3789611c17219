// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model's estimate as a Prediction; for api/ and experiments/ alone, so that cli/ sees rows only.

#include <optional>
#include <string>

#include "api/common/prediction.h"
#include "arch/spec.h"
#include "base/dtype.h"
#include "model/common/estimate.h"
#include "tile/program.h"

namespace tilescope::api {

// The error band of the program's kind of operator; that of all where it has several stages or its kind has none.
std::optional<TimeBand> band_of(double predicted_us, const arch::ArchSpec& a, const tile::RProgram& program);

Prediction prediction_of(const model::Estimate& e, const arch::ArchSpec& a, const tile::RProgram& program);

}  // namespace tilescope::api
