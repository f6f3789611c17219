// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the project's data files (devices, suites, published figures).

#include <string>
#include <string_view>

namespace tilescope::base {

// The path of a file or folder of the project, given by its path in the source tree ("arch/devices"). It is below
// $TILESCOPE_HOME if that is set; else in the source tree that the build of the running program or library names; else
// in share/tilescope of their installation, wherever that was moved.
std::string home_path(std::string_view in_tree);

}  // namespace tilescope::base
