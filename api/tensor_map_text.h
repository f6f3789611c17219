// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensor maps of launches (`maps` of a kernel in api/detail/launch_document.h) in the driver's words, for the
// programs that launch emitted kernels.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/dtype.h"

namespace tilescope::api {

// A constant of cuda.h: its name and its number, which never changes.
struct DriverConstant {
  int number = 0;
  std::string_view name;
};

// CUtensorMapDataType of an array's elements; CUtensorMapSwizzle of a scratchpad's rows, by their bytes.
DriverConstant driver_element(base::Dtype dtype);
DriverConstant driver_swizzle(std::int64_t row_bytes);

// A list of a map (`extents`, `strides`, `box`) as the driver takes it: the innermost dimension first.
std::vector<std::int64_t> innermost_first(const base::Value& map, std::string_view key);

}  // namespace tilescope::api
