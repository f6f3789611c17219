// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values as the bytes of a chip's memory: little-endian elements of a dtype.

#include <string>
#include <string_view>

#include "expr/reference.h"

namespace tilescope::expr {

// Writes the value, rounded as expr/reference.h rounds it, to the dtype's bytes at `to`. An infinity is kept where the
// format has one, because it is stored and not converted.
void put_element(base::Dtype dtype, double value, void* to);

// The value of the element at `from`. A double represents every element exactly.
double element_at(base::Dtype dtype, const void* from);

// The same for all elements of a tensor, or of a part of it.
std::string to_bytes(base::Dtype dtype, const Values& values);
Values from_bytes(base::Dtype dtype, std::string_view bytes);

}  // namespace tilescope::expr
