#pragma once
// The model's estimate as a Prediction; for the .cc files of experiments/ alone, so that cli/ sees rows only.

#include <string>

#include "arch/spec.h"
#include "base/dtype.h"
#include "experiments/prediction.h"
#include "model/estimate.h"

namespace tilescope::experiments {

// Of one stage, or of the sum of a program's stages.
Prediction prediction_of(const model::StageEstimate& s, const arch::ArchSpec& a);

// Why a chip has no estimate for a dtype.
std::string no_instruction(const arch::ArchSpec& a, base::Dtype dtype, base::Dtype accumulate);

}  // namespace tilescope::experiments
