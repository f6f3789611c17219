// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress that is not shown.

#include <cstddef>

#include "api/common/progress.h"

namespace tilescope::tests {

inline const api::Progress kSilent = [](std::size_t, std::size_t) {};

}  // namespace tilescope::tests
