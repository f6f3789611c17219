#include "lower/simt/transfer/cooperative.h"

#include <string>

#include "base/integer.h"

namespace tilescope::lower {

std::int64_t CooperativeLowering::pieces() const {
  return tile::data_tile_elements(operand(), s_.p.block) / plan().vector;
}

std::int64_t CooperativeLowering::pieces_of_thread() const { return base::ceil_div(pieces(), s_.p.threads()); }

void CooperativeLowering::add_batches(std::int64_t most) {
  StagedTile t = shape_of_tile();
  const std::int64_t row = t.shape.empty() ? 1 : t.shape.back();
  if (row % plan().vector != 0)
    s_.block.refuse("operand " + operand().name + ": rows of its staged tile are no multiple of its vector");
  const std::int64_t each = pieces_of_thread();
  batches_ = base::ceil_div(each, most);
  batch_ = base::ceil_div(each, batches_);
  if (batch_ > 1) piece_loop_ = s_.maker().loop(operand().name + "_piece", batch_);
  t.shared = s_.block.shared(operand().name + "_tile", s_.tensor_of(operand()).dtype, t.slot_elements * s_.slots(),
                             s_.staging.begins[operand_]);
  tile() = t;
}

CooperativeLowering::Piece CooperativeLowering::piece(std::int64_t batch) {
  const std::int64_t vector = plan().vector;
  Piece out;
  Affine turn = constant(batch * batch_);
  if (batch_ > 1) {
    out.loops.push_back({piece_loop_, batch_, 1, 1});
    turn = turn + s_.maker().value(piece_loop_);
    out.in_flight = s_.maker().value(piece_loop_) * vector;
  }
  const bool chunked = plan().chunked;
  const std::int64_t each = pieces_of_thread();
  const Affine number = chunked ? s_.maker().thread() * each + turn : turn * s_.p.threads() + s_.maker().thread();
  if (chunked && s_.maker().range(turn).high >= each) out.when.push_back({turn, each});
  if (s_.maker().range(number).high >= pieces()) out.when.push_back({number, pieces()});
  const tile::TileShape& shape = tile().shape;
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

Located CooperativeLowering::in_memory(const std::vector<Affine>& at_in_tile, const StepPosition& at) {
  const tile::Operand& o = operand();
  Located from = s_.addresses.tile_element(o, at_in_tile, at.begin);
  if (!products_.reads_beyond_end()) return from;
  for (std::size_t d = 0; d < o.dims.size(); ++d)
    for (const expr::Term& t : o.dims[d].terms)
      if (const auto a = static_cast<std::size_t>(t.axis); a >= s_.space().spatial)
        s_.add_ends(a, at.begin[a] + at_in_tile[d], from.inside);
  return from;
}

}  // namespace tilescope::lower
