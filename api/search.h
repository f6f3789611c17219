// SPDX-License-Identifier: Apache-2.0
#pragma once
// The searches for programs of an operator, by the names that --search takes.

#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "targets/search.h"

namespace tilescope::api {

using targets::Search;
using targets::SearchOptions;

// Every name, in the order of the searches.
std::vector<std::string_view> search_names();
std::string_view name_of(Search search);

// The search of that name, or an error that lists the names.
std::optional<Search> search_of(std::string_view name, base::Diagnostics& diags);

}  // namespace tilescope::api
