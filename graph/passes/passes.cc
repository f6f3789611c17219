// SPDX-License-Identifier: Apache-2.0
#include "graph/passes.h"

#include <array>
#include <utility>

namespace tilescope::graph {

std::span<const Pass> passes() {
  static constexpr std::array kPasses = {
      Pass{"batch-normalisation", "normalisations of a convolution's results go into its weights and a bias",
           fold_batch_normalisations},
      Pass{"joined-products", "products of one input by constants become one of all their columns",
           join_products_of_one_input, false},
      Pass{"unread", "nodes whose results nothing reads are left out", drop_unread_nodes}};
  return kPasses;
}

void simplify(Model& m) {
  for (const Pass& p : passes())
    if (p.always) p.apply(m);
}

std::string add_constant(Model& m, std::string name, Constant c) {
  while (m.constants.contains(name)) name += '_';
  m.constants.emplace(name, std::move(c));
  return name;
}

}  // namespace tilescope::graph
