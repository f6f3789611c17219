// SPDX-License-Identifier: Apache-2.0
#include "api/tensor_map_text.h"

namespace tilescope::api {

DriverConstant driver_element(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kI32:
      return {3, "CU_TENSOR_MAP_DATA_TYPE_INT32"};
    case base::Dtype::kF16:
      return {6, "CU_TENSOR_MAP_DATA_TYPE_FLOAT16"};
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return {7, "CU_TENSOR_MAP_DATA_TYPE_FLOAT32"};
    case base::Dtype::kF64:
      return {8, "CU_TENSOR_MAP_DATA_TYPE_FLOAT64"};
    case base::Dtype::kBf16:
      return {9, "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16"};
    default:
      return {0, "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
  }
}

DriverConstant driver_swizzle(std::int64_t row) {
  switch (row) {
    case 32:
      return {1, "CU_TENSOR_MAP_SWIZZLE_32B"};
    case 64:
      return {2, "CU_TENSOR_MAP_SWIZZLE_64B"};
    case 128:
      return {3, "CU_TENSOR_MAP_SWIZZLE_128B"};
    default:
      return {0, "CU_TENSOR_MAP_SWIZZLE_NONE"};
  }
}

std::vector<std::int64_t> innermost_first(const base::Value& map, std::string_view key) {
  std::vector<std::int64_t> out;
  for (const base::Value& v : *map.find(key)->get_if<base::List>()) out.insert(out.begin(), *v.get_if<std::int64_t>());
  return out;
}

}  // namespace tilescope::api
