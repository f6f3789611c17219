// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lays one document over another. Every value keeps the place where it was written.

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::arch {

// Maps merge key by key; lists whose items all bear a `name` merge by it; anything else is replaced. A key that `over`
// itself says twice stays twice, so that readers report it.
void merge(base::Value& under, const base::Value& over);

// Reports each item of a list that bears the name of an earlier one; a merge would make them one.
void report_repeated_names(const base::Value& document, base::Diagnostics& diags);

}  // namespace tilescope::arch
