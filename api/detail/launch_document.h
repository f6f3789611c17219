// SPDX-License-Identifier: Apache-2.0
#pragma once
// What launches the text of a program, as `emit --json` has it (docs/json.md); for the .cc files of experiments/.

#include "backends/cuda/emit.h"
#include "base/document.h"
#include "lower/kernel.h"

namespace tilescope::api {

// The arrays to allocate, the kernels in their order, and their text.
base::Value launch_document(const lower::Module& m, const cuda::Emitted& emitted);

}  // namespace tilescope::api
