// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of error tests that begin with the values of variables that they are read with: `# --size seq=4,batch=8`.

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/parse_args.h"

namespace tilescope::tests {

inline std::vector<expr::GivenSize> given_in(const std::string& text, base::Diagnostics& diags) {
  constexpr std::string_view kBegin = "# --size ";
  if (!text.starts_with(kBegin)) return {};
  const std::string sizes = text.substr(kBegin.size(), text.find('\n') - kBegin.size());
  return expr::parse_sizes(sizes, {diags.add_source("--size"), 1, 1}, diags).value();
}

}  // namespace tilescope::tests
