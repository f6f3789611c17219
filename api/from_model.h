// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts the model's estimate to a Prediction. For api/ and experiments/ only, so that cli/ sees only rows.

#include <cstdint>
#include <optional>
#include <string>

#include "api/common/prediction.h"
#include "arch/spec.h"
#include "base/dtype.h"
#include "model/common/estimate.h"
#include "tile/program.h"

namespace tilescope::api {

// The interval of measured times by the chip's error band for the program's kind of operator and element type. If the
// chip has none, or its bands do not hold, returns nullopt, or with `error_bands_anyway` the nearest band: that of the
// kind in another element type, else that of all operators. A program of several stages has no kind.
std::optional<TimeBand> band_of(double predicted_us, const arch::ArchSpec& a, const tile::RProgram& program);

// Whether the clock under the board's limit is looked for, at which the model judges the program anew several times.
enum class UnderLimit : std::uint8_t { kJudged, kLeftOut };

Prediction prediction_of(const model::Estimate& e, const arch::ArchSpec& a, const tile::RProgram& program,
                         UnderLimit limit = UnderLimit::kJudged);

}  // namespace tilescope::api
