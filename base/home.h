// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the project's data files stand (devices, suites, published figures).

#include <string>
#include <string_view>

namespace tilescope::base {

// The path of a file or folder of the project, given as it stands in the source tree ("arch/devices"): below
// $TILESCOPE_HOME where that is set, else beside the folder of the running program (a build) or in its
// ../share/tilescope (an installation), else in the tree that this was built from.
std::string home_path(std::string_view in_tree);

}  // namespace tilescope::base
