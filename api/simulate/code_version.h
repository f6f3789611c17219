// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hashes of the code that times depend on (cmake/code_version.cmake), for files of results that outlive a build.

#include <string>

namespace tilescope::api {

// The version of Tilescope, as in 0.1.0, and the same with results_version, as stores name what computed them.
std::string version();
std::string tool_version();

// Hash of all code that constructed programs and their times depend on. Stores of sweeps with different hashes are not
// mixed.
std::string results_version();

// Hash of the code that the simulated time of a given program depends on.
std::string simulator_version();

}  // namespace tilescope::api
