// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs run by cores that have memory of their own, in backends/ipu_sim.

#include <memory>

#include "arch/spec.h"
#include "targets/verifier.h"

namespace tilescope::targets::bsp {

// `a` must live as long as it.
std::unique_ptr<Verifier> verifier(const arch::ArchSpec& a);

}  // namespace tilescope::targets::bsp
