// SPDX-License-Identifier: Apache-2.0
#pragma once
// Other names for a program's tensors, under which programs that run one after another share arrays.

#include <functional>
#include <string>

#include "tile/program.h"

namespace tilescope::tile {

// The program with `name_of(NAME)` in place of each tensor's NAME. Different tensors get different names.
RProgram with_tensor_names(RProgram p, const std::function<std::string(const std::string&)>& name_of);

}  // namespace tilescope::tile
