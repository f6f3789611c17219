// SPDX-License-Identifier: Apache-2.0
#pragma once
// Translation units of emitted kernels for the CPU: the prelude once, the kernels of many modules unchanged, and what
// the runtime has to know of them (backends/cuda/host/entry.h).

#include <string>
#include <vector>

#include "backends/cuda/emit.h"

namespace tilescope::cuda {

// A module's text under a name that no other text has.
struct KeyedModule {
  std::string key;
  Emitted emitted;
};

KeyedModule keyed(Emitted emitted);

std::string unit_of(const std::vector<const KeyedModule*>& modules);

}  // namespace tilescope::cuda
