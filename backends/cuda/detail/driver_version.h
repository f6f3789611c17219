// SPDX-License-Identifier: Apache-2.0
#pragma once
// How versions of CUDA are written; of the standard library alone, as library.h is.

#include <string>

namespace tilescope::cuda {

// A number as the driver gives it: 13000 is 13.0.
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace tilescope::cuda
