// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of host_program.cc.in, which launches a network's kernels.

#include <string_view>

namespace tilescope::api {

std::string_view host_text();

// The line for which the network's tables stand.
inline constexpr std::string_view kTablesLine = "// TABLES\n";

}  // namespace tilescope::api
