// SPDX-License-Identifier: Apache-2.0
// Any text is an expression or a list of mistakes, never both and never neither.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/diagnostics.h"
#include "expr/infer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  base::Diagnostics diags;
  expr::Problem problem;
  problem.text.assign(reinterpret_cast<const char*>(data), size);
  problem.at = {.source = diags.add_source("--op"), .line = 1, .column = 1};
  const auto stages = expr::parse(problem.text, problem.at, diags);
  base::check(stages.has_value() == diags.ok(), "a text without mistakes is a list of stages");
  if (!stages) return 0;
  // Sizes of a few of the axes that the text has, so that some are left to inference.
  for (const char* axis : {"m", "n", "k", "y", "x", "c"})
    for (const expr::ParsedStage& s : *stages)
      for (const expr::NamedScalar& a : s.output_axes)
        if (a.name == axis && (problem.sizes.empty() || problem.sizes.back().axis != axis))
          problem.sizes.push_back({axis, 6, problem.at});
  const auto built = expr::infer(problem, *stages, diags);
  base::check(built.has_value() == diags.ok(), "stages without mistakes are an expression");
  if (!built) return 0;
  for (std::size_t s = 0; s < built->stages.size(); ++s)
    base::check(expr::single_stage(*built, s).stages.size() == 1, "every stage is an expression of its own");
  return 0;
}
