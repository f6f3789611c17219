// SPDX-License-Identifier: Apache-2.0
// Any text is a suite or a list of mistakes, never both and never neither, with and without values from outside.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/diagnostics.h"
#include "expr/suites.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool given : {false, true}) {
    base::Diagnostics diags;
    std::vector<expr::GivenSize> variables;
    if (given) variables.push_back({"seq", 6, {diags.add_source("--size"), 1, 1}});
    const auto suite = expr::read_suite_text(text, "fuzz.yaml", {}, variables, diags);
    base::check(suite.has_value() == diags.ok(), "a text without mistakes is a suite");
    if (!suite) continue;
    for (const expr::SuiteOperator& op : suite->operators) {
      base::check(op.count > 0, "an operator occurs");
      expr::build(op.problem, diags);
    }
  }
  return 0;
}
