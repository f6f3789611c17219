// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "construct/detail/fused_group.h"
#include "construct/detail/matrix_kernels.h"
#include "expr/infer.h"
#include "model/simt/machine.h"

namespace tilescope::construct {

GroupMemory::GroupMemory(const expr::Expression& e, const arch::ArchSpec& a, const Restrictions& restrictions)
    : given(restrictions), known(model::make_geometry(a)) {
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    const expr::Expression one = expr::single_stage(e, s);
    spaces.push_back(tile::make_space(one, tile::no_collapse(one.stages.front())));
    matrix.push_back(matrix_kernels(*spaces.back(), a, restrictions));
  }
}

std::optional<FusedKernel> faster(std::optional<FusedKernel> x, std::optional<FusedKernel> y) {
  return !x || (y && y->time.v < x->time.v) ? std::move(y) : std::move(x);
}

bool stays_inside(const expr::Expression& e, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const int tensor = e.stages[i].output;
    bool read = false;
    for (std::size_t s = i + 1; s < e.stages.size(); ++s) {
      const auto& reads = e.stages[s].reads;
      if (std::none_of(reads.begin(), reads.end(), [&](const expr::Read& r) { return r.tensor == tensor; })) continue;
      if (s > last) return false;
      read = true;
    }
    if (!read) return false;
  }
  return true;
}

}  // namespace tilescope::construct
