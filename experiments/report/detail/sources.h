// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the numbers of a sweep's bases come from: marks and sources of their figures, what was measured on them. For
// the .cc files of experiments/ alone.

#include "base/document.h"
#include "experiments/report/detail/rows.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// One map a base, docs/json.md, REPORT. Marks and sources are those of the chip's files, read anew; `as_swept` is
// false where these have changed since, or are no longer there.
base::List bases_of(const Store& store, const StoredSweep& sweep, const SweepRows& rows);

}  // namespace tilescope::experiments
