// SPDX-License-Identifier: Apache-2.0
#pragma once
// Networks from texts of descriptions.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graph/description.h"

namespace tilescope::tests {

// Mistakes fail the test.
inline graph::DescribedNetwork read(const std::string& text, const std::vector<expr::GivenSize>& sizes = {}) {
  base::Diagnostics diags;
  auto out = graph::described_network_of_text(text, "n.yaml", sizes, diags);
  EXPECT_TRUE(out) << testing::PrintToString(diags.formatted_errors());
  return out.value_or(graph::DescribedNetwork{});
}

}  // namespace tilescope::tests
