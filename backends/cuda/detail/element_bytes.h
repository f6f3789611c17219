// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values as they lie in the chip's memory.

#include <string>
#include <string_view>

#include "expr/reference.h"

namespace tilescope::cuda {

// Little-endian elements of the dtype, each value rounded as expr/reference.h rounds it.
std::string to_bytes(base::Dtype dtype, const expr::Values& values);

// The other way; every element is a double exactly.
expr::Values from_bytes(base::Dtype dtype, std::string_view bytes);

}  // namespace tilescope::cuda
