// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests to a language model that are computed together.

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "graph/description.h"

namespace tilescope::api {

// The rows of a CSV file with the columns `new` and `past`, tokens of a sequence, and `sequences`, 1 where absent. Rows
// that differ in nothing else are one. Mistakes are reported with line and column; then the result is nullopt.
std::optional<std::vector<graph::Requests>> read_requests(const std::string& file, base::Diagnostics& diags);

}  // namespace tilescope::api
