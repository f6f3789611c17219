// SPDX-License-Identifier: Apache-2.0
#include "api/operator_kind.h"

#include <vector>

#include "arch/key.h"
#include "expr/work.h"

namespace tilescope::api {
namespace {

using arch::OperatorKind;

OperatorKind operator_kind(const expr::Expression& one_stage) {
  const expr::Stage& s = one_stage.stages.front();
  if (s.spatial_count() == s.axes.size()) return OperatorKind::kElementwise;
  bool window = false, wide_window = false;
  std::vector<bool> of_window(s.axes.size(), false);
  for (const expr::Read& r : s.reads)
    for (const expr::Coordinate& c : r.at)
      for (const expr::Term& t : c.terms) {
        const expr::Axis& axis = s.axes[static_cast<std::size_t>(t.axis)];
        if (c.terms.size() < 2 || !axis.reduction) continue;
        window = of_window[static_cast<std::size_t>(t.axis)] = true;
        wide_window = wide_window || axis.size > 1;
      }
  if (s.reads.size() == 1) return window ? OperatorKind::kPool : OperatorKind::kReduction;
  if (s.reads.size() != 2) return OperatorKind::kOther;
  if (!window) return OperatorKind::kMatmul;
  for (std::size_t a = s.spatial_count(); a < s.axes.size(); ++a)
    if (!of_window[a]) return wide_window ? OperatorKind::kConv : OperatorKind::kPointwiseConv;
  return OperatorKind::kDepthwise;
}

}  // namespace

std::string kind_of(const expr::Expression& one_stage) {
  return std::string(arch::name_of_choice(operator_kind(one_stage)));
}

std::string kind_of_whole(const expr::Expression& e) { return e.stages.size() == 1 ? kind_of(e) : "several stages"; }

std::string kind_of_whole(const tile::RProgram& p) {
  return p.stages() == 1 ? kind_of(p.space(0).expression) : "several stages";
}

double operations_of(const tile::RProgram& p) {
  double sum = 0;
  for (std::size_t s = 0; s < p.stages(); ++s) sum += expr::operations_of(p.space(s).expression);
  return sum;
}

}  // namespace tilescope::api
