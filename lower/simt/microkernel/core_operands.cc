// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/core_operands.h"

#include <utility>

#include "tile/microkernel/wgmma.h"

namespace tilescope::lower {

Affine in_core_matrices(Stage& s, std::size_t i, const std::vector<Affine>& at, const Affine& ring_stage) {
  const CachedTile& t = s.tiles[i];
  const tile::CoreMatrices core = tile::core_matrices(s.p, i);
  const std::string& name = s.space().inputs[i].name;
  Affine offset = s.p.operands[i].once ? Affine() : ring_stage * t.ring_stage_elements;
  for (std::size_t d = 0; d + 2 < at.size(); ++d) offset = offset + at[d] * t.pitch[d];
  const auto part = [&](const Affine& a, std::int64_t of, const char* what) {
    const Affine whole = s.maker().quotient(a, of, 0, name + what);
    return std::pair{whole, a - whole * of};
  };
  const auto [below, row] = part(at[at.size() - 2], tile::kCoreRows, "_below");
  const auto [beside, column] = part(at.back(), core.columns, "_beside");
  return offset + below * core.below + row * core.columns + beside * core.beside + column;
}

SharedOperand core_operand(const Stage& s, std::size_t i, const MatrixSide& side, Affine from) {
  const tile::CoreMatrices core = tile::core_matrices(s.p, i);
  SharedOperand out{{s.tiles[i].shared, std::move(from)}, core.below, core.beside, false};
  const auto& dims = s.space().inputs[i].dims;
  if (static_cast<std::size_t>(dims.back().terms[0].axis) != side.axis) return out;
  std::swap(out.along, out.deep);
  out.transposed = true;
  return out;
}

}  // namespace tilescope::lower
