// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and checks Kernel documents; for api/ and experiments/ only.

#include <optional>

#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/check.h"
#include "lower/kernel_document.h"

namespace tilescope::api {

// Reads a Kernel document that the chip can run within the limits; nullopt after errors. Adds a note if it was made for
// another chip.
std::optional<lower::KernelDocument> read_kernel_file(const NamedText& file, const arch::ArchSpec& a,
                                                      base::Diagnostics& diags, const lower::KernelLimits& limits = {});

}  // namespace tilescope::api
