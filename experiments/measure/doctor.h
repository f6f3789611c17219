// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope doctor`: which parts of Tilescope work on this machine, and why the others do not.

#include <string>
#include <vector>

namespace tilescope::experiments {

struct Finding {
  std::string part;
  bool present = false;
  std::string detail;  // what was found, or a sentence on why it is absent
};

std::vector<Finding> examine();

}  // namespace tilescope::experiments
