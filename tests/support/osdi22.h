// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of the artifact's search start from: a chip's constants, an operator as an expression, and the tiles of a
// program in the artifact's terms.

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "arch/load.h"
#include "construct/roller_osdi22.h"
#include "expr/suites.h"

namespace tilescope::tests {

inline constexpr int kTop = 10;

// One program in the artifact's terms: block tile, reduction step, register tile.
struct LoggedTile {
  std::vector<std::int64_t> block, step, thread;

  bool operator==(const LoggedTile&) const = default;
};

inline LoggedTile logged_tile(const tile::StageProgram& p) {
  LoggedTile out;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) {
    if (a >= p.space->spatial) {
      out.step.push_back(p.block[a]);
      continue;
    }
    out.block.push_back(p.block[a]);
    out.thread.push_back(p.thread[a]);
  }
  return out;
}

// Throws with every mistake: a test that cannot start has failed.
inline void require_ok(const base::Diagnostics& diags) {
  std::string all;
  for (const std::string& line : diags.formatted_errors()) all += line + '\n';
  if (!diags.ok()) throw std::runtime_error(all);
}

inline arch::RollerBaseline osdi22_constants(const std::string& device) {
  base::Diagnostics diags;
  const auto chip = arch::load_arch(device, {}, diags);
  require_ok(diags);
  return chip.value().baselines.roller_osdi22.value();
}

inline expr::Expression expression_of(const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
  base::Diagnostics diags;
  expr::Problem problem;
  problem.text = text;
  problem.at = {diags.add_source("test"), 1, 1};
  for (const auto& [axis, size] : sizes) problem.sizes.push_back({axis, size, problem.at});
  const auto built = expr::build(problem, diags);
  require_ok(diags);
  return built.value();
}

// Operators of the suite `roller` by their ids.
inline std::map<std::string, expr::Expression> roller_suite() {
  base::Diagnostics diags;
  const auto suite = expr::load_suite("roller", base::Dtype::kF32, diags);
  require_ok(diags);
  std::map<std::string, expr::Expression> out;
  for (const expr::SuiteOperator& o : suite.value()) {
    const auto built = expr::build(o.problem, diags);
    require_ok(diags);
    out.emplace(o.id, built.value());
  }
  return out;
}

inline construct::Osdi22Result osdi22_search(const expr::Expression& e, const arch::RollerBaseline& constants) {
  return construct::roller_osdi22(e, constants, kTop, {16});
}

}  // namespace tilescope::tests
