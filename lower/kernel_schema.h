// SPDX-License-Identifier: Apache-2.0
#pragma once
// What editors and other tools check Kernel documents against.

#include "base/document.h"

namespace tilescope::lower {

// The JSON Schema (draft 7) of Kernel documents (kernel_document.h). It has no rules between statements, and takes
// texts of languages of their own, such as an access's indices, by their form alone: lower/check.h has the rest.
base::Value kernels_schema();

}  // namespace tilescope::lower
