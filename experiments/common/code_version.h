// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the code that times come from (cmake/code_version.cmake), for files of results that outlive a build.

#include <string>

namespace tilescope::experiments {

// All code that a constructed program and its times depend on: stores of sweeps that differ in it are not mixed.
std::string results_version();

// The code that the simulated time of a given program depends on.
std::string simulator_version();

}  // namespace tilescope::experiments
