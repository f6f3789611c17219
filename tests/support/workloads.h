// SPDX-License-Identifier: Apache-2.0
#pragma once
// Workloads as the command line gives them.

#include <string>

#include "base/dtype.h"
#include "experiments/programs/compile.h"

namespace tilescope::tests {

inline experiments::Workload workload(const std::string& op, const std::string& sizes,
                                      base::Dtype dtype = base::Dtype::kF32) {
  experiments::Workload w;
  w.op = op;
  w.sizes = sizes;
  w.dtype = dtype;
  return w;
}

}  // namespace tilescope::tests
