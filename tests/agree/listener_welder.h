// SPDX-License-Identifier: Apache-2.0
#pragma once
// What Welder's open policy answers about products, with and without matrix instructions, a sum and a transposition.

#include <string>

#include "arch/spec.h"

namespace tilescope::tests {

// Empty where the chip has no such baseline.
std::string welder_answer(const arch::ArchSpec& a);

}  // namespace tilescope::tests
