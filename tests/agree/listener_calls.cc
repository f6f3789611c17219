// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/listener_calls.h"

#include <fmt/format.h>

#include "model/bsp/estimate.h"
#include "tests/support/build.h"
#include "tile/space.h"

namespace tilescope::tests {

std::string called_answer(const arch::ArchSpec& a) {
  std::string out;
  for (const arch::ComputeSpec& c : a.compute)
    for (const std::int64_t rows : {1, 2}) {
      const char* op = c.n * c.k > 1 ? "C[i,j] +=! A[i,k] * B[k,j]" : "C[i,j] +=! A[k,i,j]";
      const expr::Expression e =
          expression(op, fmt::format("i={},j=64,k=64", rows * a.core.max_block_threads), {}, c.dtype);
      const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
      tile::Extents all;
      for (const tile::TileAxis& axis : space->axes) all.push_back(axis.extent);
      out += fmt::format("{};", model::bsp::vertex_cycles(*space, all, c, a).all);
    }
  return out;
}

}  // namespace tilescope::tests
