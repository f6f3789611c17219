// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "arch/spec.h"
#include "experiments/programs/configurations.h"
#include "expr/expression.h"

namespace tilescope::experiments {

// The `keep` best configurations of Welder's open policy, all stages as one group.
Configurations welder_configurations(const expr::Expression& e, const arch::ArchSpec& a, std::size_t keep);

}  // namespace tilescope::experiments
