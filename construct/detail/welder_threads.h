// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the policy of Welder's open code shares a block's tiles among threads.

#include <optional>
#include <vector>

#include "construct/detail/welder_policy.h"
#include "construct/welder_open.h"

namespace tilescope::construct {

// The stages of a tile by the first number of threads that all of them take; nothing where there is none, or stages
// differ in their blocks. `longer` is the tile with the steps that it runs with.
std::optional<std::vector<WelderStage>> share_among_threads(const WelderPolicy& policy, const WelderTile& longer);

}  // namespace tilescope::construct
