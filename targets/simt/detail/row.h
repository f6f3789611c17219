// SPDX-License-Identifier: Apache-2.0
#pragma once
// The row of machines whose cores run the threads of blocks in warps, one instruction for all threads of one: GPUs.

#include "targets/target.h"

namespace tilescope::targets::simt {

extern const Target kRow;

}  // namespace tilescope::targets::simt
