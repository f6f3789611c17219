// SPDX-License-Identifier: Apache-2.0
#pragma once
// Verification of programs however they were made; for the .cc files of experiments/ and for tests.

#include <vector>

#include "arch/spec.h"
#include "experiments/programs/given.h"
#include "experiments/verify/verify.h"

namespace tilescope::experiments {

// Nothing, and an error, where the machine cannot compile kernels.
std::optional<std::vector<VerifiedRow>> verify_programs(const std::vector<GivenProgram>& given, const arch::ArchSpec& a,
                                                        int jobs, const Progress& progress, base::Diagnostics& diags);

}  // namespace tilescope::experiments
