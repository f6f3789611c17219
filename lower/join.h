// SPDX-License-Identifier: Apache-2.0
#pragma once
// Modules that run one after another in the same memory.

#include <span>

#include "lower/kernel.h"

namespace tilescope::lower {

// One module with the kernels of all, in order. Arrays of the same name are one array (modules agree on its size,
// checked); scalars of different modules stay apart, whatever their names.
Module joined(std::span<const Module> modules);

}  // namespace tilescope::lower
