// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel as readable text: what `compile --print kernel` shows.

#include <string>

#include "lower/kernel.h"

namespace tilescope::lower {

std::string print(const Module& m);

// One statement as a line; of a loop or an If only the head.
std::string print(const Module& m, const Kernel& k, const Statement& s);

// One affine with the kernel's names, such as "m0*64 + ty*8 + 3".
std::string print(const Kernel& k, const Affine& a);

}  // namespace tilescope::lower
