// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip as a picture: its levels of memory, outermost on top, and what a core has.

#include "arch/spec.h"
#include "experiments/common/svg.h"

namespace tilescope::cli {

experiments::Svg picture_of(const arch::ArchSpec& a);

}  // namespace tilescope::cli
