#include "lower/simt/transfer/row_store.h"

#include <utility>

#include "arch/derive.h"
#include "tile/transfer/results.h"

namespace tilescope::lower {

RowStoreLowering::RowStoreLowering(Stage& stage, MicroKernelLowering& products)
    : ResultsLowering(stage, products), output_(stage.space().inputs.size()), pieces_(stage, output_) {}

void RowStoreLowering::add_tile() {
  pieces_.cut(pieces_.most_in_flight(tile::result_element(s_.p)));
  const base::Dtype leaves = s_.block.dtype_of(s_.results.leaving);
  const std::string& name = s_.space().output.name;
  StagedTile t = s_.shape_of_tile(output_);
  t.shared = s_.block.shared(name + "_tile", leaves, t.slot_elements, {0});
  s_.tiles[output_] = t;
  carried_ = s_.block.registers(name + "_row", leaves, pieces_.in_batch() * s_.p.operands[output_].vector);
}

Statement RowStoreLowering::gather() {
  const std::int64_t vector = tile::results_side_by_side(s_.p, arch::widest_access_of(s_.chip));
  const std::vector<std::vector<AxisLoop>> by_axis = products_.result_loops(vector);
  std::vector<Affine> local = s_.local_values(by_axis);
  products_.add_lane(local);
  const tile::Operand& output = s_.space().output;
  const TilePlace at = s_.addresses.in_tile(output, tile::output_read(s_.stage()), local, local);
  const Copy copy{{s_.tiles[output_].shared, in_rows(at.at)},
                  {s_.results.leaving, products_.result_position(vector)},
                  vector,
                  {},
                  {}};
  return noted(nest(joined(by_axis), {{copy, {}}}, true).front(), "gather " + output.name);
}

Body RowStoreLowering::store_pieces() {
  const tile::Operand& output = s_.space().output;
  const std::int64_t vector = s_.p.operands[output_].vector;
  const StepPosition begin = s_.indices.at_step(constant(0));
  Body body;
  for (std::int64_t batch = 0; batch < pieces_.batches(); ++batch) {
    const CooperativePieces::Piece p = pieces_.piece(batch);
    Located to = s_.addresses.tile_element(output, tile::output_read(s_.stage()), p.at, begin.begin);
    if (s_.split()) to.offset = to.offset + s_.indices.part() * s_.tensor_of(output).elements();
    s_.check_aligned(output.name, to, vector);
    const Copy load{{carried_, p.in_flight}, {s_.tiles[output_].shared, in_rows(p.at)}, vector, p.when, {}};
    to.inside.insert(to.inside.begin(), p.when.begin(), p.when.end());
    const Copy store{{s_.memory.back(), to.offset}, {carried_, p.in_flight}, vector, to.inside, {}};
    body.push_back(noted(nest(p.loops, {{load, {}}}, true).front(), "read rows of " + output.name));
    body.push_back(noted(nest(p.loops, {{store, {}}}, true).front(), "store " + output.name));
  }
  return body;
}

Body RowStoreLowering::store(const Meeting& meet) {
  Body body;
  if (s_.any_staged()) body = meet("every thread has read the last step's tiles");
  body.push_back(gather());
  body = with(std::move(body), meet("the rows of results are whole"));
  return with(std::move(body), store_pieces());
}

Affine RowStoreLowering::in_rows(const std::vector<Affine>& at) const {
  Affine offset;
  for (std::size_t d = 0; d < at.size(); ++d) offset = offset + at[d] * s_.tiles[output_].pitch[d];
  return offset;
}

}  // namespace tilescope::lower
