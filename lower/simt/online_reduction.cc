// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/online_reduction.h"

#include <algorithm>
#include <utility>

#include "tile/microkernel/rules.h"
#include "tile/transfer/results.h"

namespace tilescope::lower {
namespace {

using expr::Node;
using expr::NodeKind;

Node number(double value) { return {.kind = NodeKind::kNumber, .number = value}; }
Node operand(int index) { return {.kind = NodeKind::kRead, .index = index}; }

}  // namespace

Carrying::Carrying(const BlockParts& parts, const CarriedPlace& place) : b_(parts), place_(place), s_(parts.stage) {
  const std::string& output = s_.space().output.name;
  const base::Dtype held = s_.expression().accumulate;
  if (place_.rescaling != nullptr && place_.held_factors < 0) factor_ = s_.block.registers(output + "_factor", held, 1);
  if (!place_.coefficient) return;
  const std::int64_t results = s_.block.kernel().buffers[static_cast<std::size_t>(s_.results.leaving)].elements;
  before_ = s_.block.registers(output + "_before", s_.block.dtype_of(s_.results.leaving), results);
  factor_ = s_.block.registers(output + "_factor", held, results);
  if (by_rows()) return;
  const CachedTile& tile = s_.tiles.back();
  factors_ = {s_.block.shared(output + "_factors", held, tile.ring_stage_elements, place_.factors_at), tile.shape,
              tile.pitch, s_.place.begins};
}

bool Carrying::by_rows() const { return tile::holds_rows(s_.p); }

KeptTile Carrying::factors() const { return factors_; }

Body Carrying::on_all(int target, std::vector<Node> body, const std::vector<int>& operands) {
  const Affine at = b_.products.result_position(1);
  Compute c{{target, at}, expr::Reducer::kNone, std::move(body), {}};
  for (const int buffer : operands) c.operands.push_back({buffer, at});
  return nest(joined(b_.products.result_loops(1)), {{c, {}}}, true);
}

Body Carrying::before() {
  if (!place_.coefficient) return b_.results.initial();
  const double first = expr::furthest_finite(s_.stage().reducer, s_.block.dtype_of(s_.results.leaving));
  Body body = on_all(s_.results.accumulators, {number(first)}, {});
  return with(std::move(body), on_all(before_, {number(first)}, {}));
}

// What reads the last step's tiles is done: a barrier ends every step of the loop.
Body Carrying::in_step(const Affine& step) {
  const StepPosition at = s_.indices.at_step(step);
  Body body = rescale();
  if (b_.transfers.any() && b_.transfers.in_one_batch()) {
    body = with(std::move(body), b_.transfers.load(at));
    body = with(std::move(body), b_.transfers.keep(constant(0)));
  } else {
    body = with(std::move(body), b_.transfers.copy(at, constant(0)));
  }
  body = with(std::move(body), b_.products.before_reads());
  if (b_.transfers.any()) body = with(std::move(body), at_barrier("the tiles are whole"));
  return with(std::move(body), compute(step, constant(0)));
}

Body Carrying::in_step_of_ring(const Affine& step, const Affine& ring_stage) {
  return with(rescale(), compute(step, ring_stage));
}

Body Carrying::compute(const Affine& step, const Affine& ring_stage) {
  Body body = b_.products.start(step, ring_stage);
  body = with(std::move(body), b_.products.finish(step, ring_stage));
  if (!place_.runs) return body;
  body = with(std::move(body), b_.results.leave(at_barrier));
  return with(std::move(body), leave_factors());
}

Body Carrying::behind() { return place_.runs ? Body{} : b_.results.leave(at_barrier); }

// The factor hangs on some of the axes, whose loops stand outside.
Body Carrying::rescale() {
  if (place_.rescaling == nullptr) return {};
  if (place_.held_factors >= 0) return rescale_by_rows();
  const std::vector<std::vector<AxisLoop>> by_axis = b_.products.result_loops(1);
  std::vector<std::vector<AxisLoop>> outside(by_axis.size()), inside = by_axis;
  for (const expr::Coordinate& c : place_.rescaling->at)
    for (const expr::Term& t : c.terms)
      std::swap(outside[static_cast<std::size_t>(t.axis)], inside[static_cast<std::size_t>(t.axis)]);
  std::vector<Affine> local = s_.local_values(by_axis);
  b_.products.add_lane(local);
  const std::vector<Affine> axes = s_.absolute_values(local, s_.indices.at_step(constant(0)));
  const KeptTile& tile = *place_.factors;
  const Located from = s_.addresses.in_tile_of(place_.rescaling->at, axes, tile.begin, tile.shape, tile.pitch);
  const Access sum{s_.results.accumulators, b_.products.result_position(1)}, factor{factor_, {}};
  Body one = {{Copy{factor, {tile.shared, from.offset}, 1, {}, from.inside}, {}}};
  const Compute product{sum,
                        expr::Reducer::kNone,
                        {operand(0), operand(1), {.kind = NodeKind::kMultiply, .left = 0, .right = 1}},
                        {sum, factor}};
  one = with(std::move(one), nest(joined(inside), {{product, {}}}, true));
  Body body = nest(joined(outside), std::move(one), true);
  body.front().note = "sums as of the maximum so far";
  return body;
}

// The axes of the factor stand alone in its coordinates (tile/group.cc, check_rescaled).
Body Carrying::rescale_by_rows() {
  std::vector<std::size_t> axes;
  for (const expr::Coordinate& c : place_.rescaling->at) axes.push_back(static_cast<std::size_t>(*c.bare_axis()));
  const Access sum{s_.results.accumulators, b_.products.result_position(1)};
  const Compute product{sum,
                        expr::Reducer::kNone,
                        {operand(0), operand(1), {.kind = NodeKind::kMultiply, .left = 0, .right = 1}},
                        {sum, {place_.held_factors, b_.products.places_along(axes, 1).place}}};
  Body body = nest(joined(b_.products.result_loops(1)), {{product, {}}}, true);
  body.front().note = "sums as of the maximum so far";
  return body;
}

Body Carrying::leave_factors() {
  if (!place_.coefficient) return {};
  const int now = s_.results.leaving;
  Body body = on_all(factor_,
                     {operand(0),
                      operand(1),
                      {.kind = NodeKind::kSubtract, .left = 0, .right = 1},
                      number(*place_.coefficient),
                      {.kind = NodeKind::kMultiply, .left = 2, .right = 3},
                      {.kind = NodeKind::kCall, .function = expr::Function::kExp, .left = 4}},
                     {now, before_});
  body = with(std::move(body), on_all(before_, {operand(0)}, {now}));
  if (by_rows()) return body;
  const std::vector<std::vector<AxisLoop>> by_axis = b_.products.result_loops(1);
  std::vector<Affine> local = s_.local_values(by_axis);
  b_.products.add_lane(local);
  const TilePlace place = s_.addresses.in_tile(s_.space().output, tile::output_read(s_.stage()), local, local);
  Affine to;
  for (std::size_t d = 0; d < place.at.size(); ++d) to = to + place.at[d] * factors_.pitch[d];
  std::vector<Guard> when;
  s_.add_first_sharer(when);
  const Copy copy{{factors_.shared, to}, {factor_, b_.products.result_position(1)}, 1, when, {}};
  return with(std::move(body), {noted(nest(joined(by_axis), {{copy, {}}}, true).front(),
                                      "the factors of sums as of the " + s_.space().output.name + " before")});
}

}  // namespace tilescope::lower
