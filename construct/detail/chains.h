// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which stages of an expression may be epilogues of the stage before them (tile/microkernel/epilogue.h).

#include <cstddef>
#include <memory>
#include <vector>

#include "expr/expression.h"
#include "tile/space.h"

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

}  // namespace tilescope::construct
