// SPDX-License-Identifier: Apache-2.0
#pragma once
// Workloads as the command line gives them.

#include <string>

#include "api/compile.h"
#include "base/dtype.h"

namespace tilescope::tests {

inline api::Workload workload(const std::string& op, const std::string& sizes, base::Dtype dtype = base::Dtype::kF32) {
  api::Workload w;
  w.op = op;
  w.sizes = sizes;
  w.dtype = base::name_of(dtype);
  return w;
}

}  // namespace tilescope::tests
