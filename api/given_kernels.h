// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernel documents as they were given, read and checked; for api/ and experiments/ alone.

#include <optional>

#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/check.h"
#include "lower/kernel_document.h"

namespace tilescope::api {

// A Kernel document that the chip can run, within the limits, or nothing after errors; a note where it was made for
// another chip.
std::optional<lower::KernelDocument> read_kernel_file(const NamedText& file, const arch::ArchSpec& a,
                                                      base::Diagnostics& diags, const lower::KernelLimits& limits = {});

}  // namespace tilescope::api
