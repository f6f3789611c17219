// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which stages of an expression may continue in the threads of the stage before them: epilogues
// (tile/microkernel/epilogue.h), and in whole rows also row reductions and products (tile/microkernel/row_reduction.h).

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "expr/expression.h"
#include "tile/program.h"

namespace tilescope::construct {

using SpacePtr = std::shared_ptr<const tile::TileSpace>;

// A stage and the epilogues behind it, to which its results pass in registers.
struct Chain {
  std::size_t holder = 0, end = 0;
};

// By stage, from the first of them on: the chains that the stages first .. last fall into, those of products only where
// `of_products`.
std::vector<Chain> chains_of(const expr::Expression& e, const std::vector<SpacePtr>& spaces, std::size_t first,
                             std::size_t last, bool of_products = true);

// How the stages of a run pass tensors to each other.
struct Passing {
  std::vector<Chain> chains;      // by stage of the run
  std::vector<tile::Edge> edges;  // which number stages within the run
  bool by_rows = false;           // warps have whole rows of products, and row reductions are in the chains
};

// In registers within these chains, else in the scratchpad.
Passing passing_in(std::vector<Chain> chains, const expr::Expression& e, std::size_t first, const arch::ArchSpec& a);

// With row reductions in registers, and products whose first operand stays there; `products`: by stage of the
// expression, whether a matrix instruction may multiply it. nullopt where the stages first .. last have no such chain.
std::optional<Passing> passing_by_rows(const expr::Expression& e, const std::vector<SpacePtr>& spaces,
                                       const std::vector<bool>& products, std::size_t first, std::size_t last,
                                       const arch::ArchSpec& a);

}  // namespace tilescope::construct
