// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values as they lie in a chip's memory: little-endian elements of a dtype.

#include <string>
#include <string_view>

#include "expr/reference.h"

namespace tilescope::expr {

// Writes the value, rounded as expr/reference.h rounds it, to the dtype's bytes at `to`. An infinity stays one where
// the format has it: it is stored, not converted.
void put_element(base::Dtype dtype, double value, void* to);

// The value of the element at `from`; every element is a double exactly.
double element_at(base::Dtype dtype, const void* from);

// The same of all elements of a tensor, or of a part of it.
std::string to_bytes(base::Dtype dtype, const Values& values);
Values from_bytes(base::Dtype dtype, std::string_view bytes);

}  // namespace tilescope::expr
