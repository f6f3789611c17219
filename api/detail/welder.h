// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "api/configurations.h"
#include "arch/spec.h"
#include "expr/expression.h"

namespace tilescope::api {

// The `keep` best configurations of Welder's open policy, all stages as one group.
Configurations welder_configurations(const expr::Expression& e, const arch::ArchSpec& a, std::size_t keep);

}  // namespace tilescope::api
