#pragma once
// The model's estimate as a Prediction; for the .cc files of experiments/ alone, so that cli/ sees rows only.

#include "arch/spec.h"
#include "experiments/prediction.h"
#include "model/estimate.h"

namespace tilescope::experiments {

Prediction prediction_of(const model::Estimate& e, const arch::ArchSpec& a);
Prediction prediction_of(const model::StageEstimate& s, const arch::ArchSpec& a);

}  // namespace tilescope::experiments
