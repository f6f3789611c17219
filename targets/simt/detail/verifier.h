// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of a module interpreted, and as they are emitted, compiled by the host's compiler.

#include <memory>

#include "arch/spec.h"
#include "targets/verifier.h"

namespace tilescope::targets::simt {

// `a` must live as long as it.
std::unique_ptr<Verifier> verifier(const arch::ArchSpec& a);

}  // namespace tilescope::targets::simt
