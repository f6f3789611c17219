// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/pieces.h"

#include <algorithm>
#include <string>

#include "base/integer.h"
#include "tile/fit.h"

namespace tilescope::lower {

std::int64_t CooperativePieces::of_tile() const {
  return tile::data_tile_elements(operand(), s_.p.block) / plan().vector;
}

std::int64_t CooperativePieces::of_thread() const { return base::ceil_div(of_tile(), s_.p.threads()); }

std::int64_t CooperativePieces::max_in_flight(base::Bytes element) const {
  if (!s_.chip.compiler || !s_.chip.compiler->copy_registers) return std::max<std::int64_t>(1, of_thread());
  return std::max<std::int64_t>(1,
                                *s_.chip.compiler->copy_registers * tile::kRegisterBytes / (plan().vector * element.n));
}

void CooperativePieces::cut(std::int64_t most) {
  const tile::TileShape shape = tile::data_tile(operand(), s_.p.block);
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  if (row % plan().vector != 0)
    s_.block.refuse("operand " + operand().name + ": rows of its staged tile are no multiple of its vector");
  const std::int64_t each = of_thread();
  batches_ = base::ceil_div(each, most);
  batch_ = base::ceil_div(each, batches_);
  if (batch_ > 1) loop_ = s_.maker().loop(operand().name + "_piece", batch_);
}

CooperativePieces::Piece CooperativePieces::piece(std::int64_t batch) {
  const std::int64_t vector = plan().vector;
  Piece out;
  Affine turn = constant(batch * batch_);
  if (batch_ > 1) {
    out.loops.push_back({loop_, batch_, 1, 1});
    turn = turn + s_.maker().value(loop_);
    out.in_batch = s_.maker().value(loop_);
  }
  const bool blocked = plan().blocked;
  const std::int64_t each = of_thread();
  const Affine thread = s_.maker().thread() - constant(s_.crew * s_.p.threads());
  const Affine number = blocked ? thread * each + turn : turn * s_.p.threads() + thread;
  if (blocked && s_.maker().range(turn).high >= each) out.when.push_back({turn, each});
  s_.add_own_thread(out.when);
  if (s_.maker().range(number).high >= of_tile()) out.when.push_back({number, of_tile()});
  const tile::TileShape shape = tile::data_tile(operand(), s_.p.block);
  std::int64_t faster = 1;
  out.at.resize(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::int64_t unit = d + 1 == shape.size() ? vector : 1;
    const std::int64_t size = shape[d] / unit;
    const std::string name = operand().name + "_at" + std::to_string(d);
    out.at[d] = s_.maker().quotient(number, faster, d == 0 ? 0 : size, name) * unit;
    faster *= size;
  }
  return out;
}

}  // namespace tilescope::lower
