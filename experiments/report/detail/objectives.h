// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objectives and constraints of a sweep as a report shows them. For the .cc files of experiments/ alone.

#include <vector>

#include "base/document.h"
#include "experiments/objectives/objectives.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// Members of the document, docs/json.md, REPORT; empty for a sweep without objectives.
struct ReportedObjectives {
  base::List objectives;   // [{"name","unit","values","better"}]
  base::List constraints;  // [{"text","name","unit","bound","at_most"}] of those that bound a result by a number
  base::List violation;    // a column over points, empty without constraints

  // Whether one of the objectives is this result, and nothing else.
  bool have(std::string_view name) const;
};

ReportedObjectives objectives_of(const Store& store, const StoredSweep& sweep);

}  // namespace tilescope::experiments
