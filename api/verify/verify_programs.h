// SPDX-License-Identifier: Apache-2.0
#pragma once
// Verifies programs from any source; for the .cc files of experiments/ and for tests.

#include <vector>

#include "api/given.h"
#include "api/verify/verify.h"
#include "arch/spec.h"

namespace tilescope::api {

// Verifies the programs, `jobs` at a time. Returns nullopt, with an error, if the machine cannot compile kernels.
std::optional<std::vector<VerifiedRow>> verify_programs(const std::vector<GivenProgram>& given, const arch::ArchSpec& a,
                                                        int jobs, const Progress& progress, base::Diagnostics& diags);

}  // namespace tilescope::api
