// SPDX-License-Identifier: Apache-2.0
#pragma once
// A picture of a chip: its levels of memory, outermost on top, and the parts of a core.

#include "arch/spec.h"
#include "experiments/common/svg.h"

namespace tilescope::cli {

experiments::Svg picture_of(const arch::ArchSpec& a);

}  // namespace tilescope::cli
