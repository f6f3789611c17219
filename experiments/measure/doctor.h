// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope doctor`: what of Tilescope works on this machine, and why the rest does not.

#include <string>
#include <vector>

namespace tilescope::experiments {

struct Finding {
  std::string part;
  bool present = false;
  std::string detail;  // what was found, or one sentence on why it is absent
};

std::vector<Finding> examine();

}  // namespace tilescope::experiments
