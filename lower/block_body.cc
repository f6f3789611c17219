// The statements of one block: steps, arithmetic and results.

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "lower/stage_lowering.h"

namespace tilescope::lower {
namespace {

using expr::Node;
using expr::NodeKind;
using expr::Reducer;
using tile::Operand;

// The value before the first step of a reduction.
double identity(Reducer r) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return r == Reducer::kMax ? -kInfinity : r == Reducer::kMin ? kInfinity : 0.0;
}

Node number(double value) { return {.kind = NodeKind::kNumber, .number = value}; }
Node read_of(int operand) { return {.kind = NodeKind::kRead, .index = operand}; }

Statement looped(const AxisLoop& loop, Body body, std::int64_t unroll) {
  return {Loop{loop.index, unroll, std::move(body)}, {}};
}

Statement noted(Statement s, std::string note) {
  s.note = std::move(note);
  return s;
}

std::vector<AxisLoop> joined(const std::vector<std::vector<AxisLoop>>& loops) {
  std::vector<AxisLoop> out;
  for (const auto& l : loops) out.insert(out.end(), l.begin(), l.end());
  return out;
}

// A mean is summed first and divided when all is summed.
Reducer step_of(Reducer r) { return r == Reducer::kMean ? Reducer::kSum : r; }

}  // namespace

Body with(Body body, Body more) {
  body.insert(body.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return body;
}

Body nest(const std::vector<AxisLoop>& loops, Body body, bool unroll) {
  for (auto l = loops.rbegin(); l != loops.rend(); ++l) {
    Body outer;
    outer.push_back(looped(*l, std::move(body), unroll ? l->extent : 0));
    body = std::move(outer);
  }
  return body;
}

Body StageLowering::block_body() {
  if (p_.in_boxes()) return parted_body();
  Body body;
  if (reduces()) body = initial();
  const std::int64_t steps = p_.steps();
  const bool loops = steps > 1;
  const int loop = loops ? maker_.loop("step", steps) : -1;
  const Affine step = loops ? maker_.value(loop) : constant(0);
  if (slots() > 1) {
    for (std::int64_t s = 0; s + 1 < slots(); ++s) {
      const StepPosition at = indices_.at_step(constant(s));
      if (s < steps) body = with(std::move(body), copy_tiles_asynchronously(at, constant(s)));
      if (s < steps) body = with(std::move(body), copy_tiles(at, constant(s)));
      // Waits count groups, so that a step which is not there has an empty one.
      if (any_asynchronous()) body.push_back({Commit{}, {}});
    }
  }
  Body of_step;
  if (slots() > 1) {
    of_step = pipelined(step);
  } else {
    const StepPosition at = indices_.at_step(step);
    const Statement turn = noted({Barrier{}, {}}, "nobody reads the last step's tiles any more");
    if (any_staged_ && one_batch()) {
      of_step = load_tiles(at);
      if (loops) of_step.push_back(turn);
      of_step = with(std::move(of_step), keep_tiles(constant(0)));
    } else if (any_staged_) {
      if (loops) of_step.push_back(turn);
      of_step = with(std::move(of_step), copy_tiles(at, constant(0)));
    }
    if (p_.in_core_matrices()) of_step.push_back({Publish{}, {}});
    if (any_staged_) of_step.push_back(noted({Barrier{}, {}}, "the tiles are whole"));
    of_step = with(std::move(of_step), compute(step, constant(0)));
  }
  if (loops)
    body.push_back({Loop{loop, 1, std::move(of_step)}, {}});
  else
    body = with(std::move(body), std::move(of_step));
  return with(std::move(body), results());
}

// A step whose tiles were copied `slots - 1` steps before, while later ones are on their way.
Body StageLowering::pipelined(const Affine& step) {
  const std::int64_t ahead = slots() - 1;
  const Affine next = step + constant(ahead);
  const StepPosition at = indices_.at_step(next);
  const Affine next_slot = maker_.quotient(next, 1, slots(), "next_slot");
  const std::vector<Guard> more = {{next, p_.steps()}};
  const auto when_more = [&](Body b) { return Statement{If{more, std::move(b)}, {}}; };
  Body body;
  if (any_asynchronous()) body.push_back({Wait{ahead - 1}, {}});
  if (p_.in_core_matrices()) body.push_back({Publish{}, {}});
  body.push_back(noted({Barrier{}, {}}, "this step's tiles are whole, the last step's are free"));
  const Affine slot = maker_.quotient(step, 1, slots(), "slot");
  // Products that run by themselves do so while the next tiles' copies are issued.
  if (p_.in_core_matrices()) body = with(std::move(body), begin_products(indices_.at_step(step), slot));
  if (any_asynchronous()) body.push_back(when_more(copy_tiles_asynchronously(at, next_slot)));
  if (any_asynchronous()) body.push_back({Commit{}, {}});
  const Body loads = load_tiles(at);
  const bool carried = !loads.empty() && one_batch();
  if (carried) body.push_back(when_more(loads));
  if (!loads.empty() && !carried) body.push_back(when_more(copy_tiles(at, next_slot)));
  body = with(std::move(body), p_.in_core_matrices() ? end_products() : compute(step, slot));
  if (carried) body.push_back(when_more(keep_tiles(next_slot)));
  return body;
}

Body StageLowering::initial() {
  Compute c{{accumulators_, result_position(1)}, Reducer::kNone, {number(identity(stage().reducer))}, {}};
  return nest(joined(result_loops(1)), {{c, {}}}, true);
}

Body StageLowering::compute(const Affine& step, const Affine& slot) {
  const StepPosition at = indices_.at_step(step);
  if (p_.in_core_matrices()) return with(begin_products(at, slot), end_products());
  if (p_.matrix) return in_chunk_loops(multiply_fragments(at, slot));
  std::vector<Guard> inside = inside_reduction(at);
  Body of_point = fragments(false, at, slot, inside);
  of_point.push_back(arithmetic());
  if (!inside.empty()) {
    Body guarded;
    guarded.push_back({If{std::move(inside), std::move(of_point)}, {}});
    of_point = std::move(guarded);
  }
  // What a chunk reads beyond an edge is in the tile all the same, and no point uses it. Registers have no addresses:
  // the loop that tells a chunk's points apart is unrolled wholly.
  Body of_chunk = fragments(true, at, slot, {});
  return in_chunk_loops(with(std::move(of_chunk), nest(indices_.point_loops(), std::move(of_point), true)));
}

// What keeps the last step of an axis, or of a part of it, from going beyond its end.
std::vector<Guard> StageLowering::inside_reduction(const StepPosition& at) {
  std::vector<Guard> inside;
  for (std::size_t a = space().spatial; a < space().axes.size(); ++a)
    add_ends(a, at.begin[a] + indices_.along(a, indices_.thread_loops(a, 1)), inside);
  return inside;
}

void StageLowering::add_ends(std::size_t a, const Affine& value, std::vector<Guard>& inside) const {
  const auto guard = [&](const Affine& v, std::int64_t bound) {
    const Guard g{v, bound};
    const bool known = std::find(inside.begin(), inside.end(), g) != inside.end();
    if (!known && maker_.range(v).high >= bound) inside.push_back(g);
  };
  if (p_.split[a] > 1) guard(value - indices_.block_begin(a), indices_.part_extent(a));
  guard(value, space().axes[a].extent);
}

Body StageLowering::in_chunk_loops(Body body) {
  std::vector<AxisLoop> loops = indices_.chunk_loops();
  if (loops.empty()) return body;
  std::int64_t statements = 1;
  for (std::size_t a = 0; a < space().axes.size(); ++a) statements *= indices_.mapping(a).thread_extent();
  if (p_.matrix) statements /= p_.matrix->m * p_.matrix->n * p_.matrix->k;
  const AxisLoop inner = loops.back();
  loops.pop_back();
  const std::int64_t unroll = p_.unroll == 0 ? 0 : std::clamp<std::int64_t>(p_.unroll / statements, 1, inner.extent);
  Body innermost;
  innermost.push_back(looped(inner, std::move(body), unroll));
  return nest(loops, std::move(innermost), false);
}

Statement StageLowering::arithmetic() {
  Compute c{{accumulators_, result_position(1)}, step_of(stage().reducer), stage().body, {}};
  for (Node& n : c.body)
    if (n.kind == NodeKind::kScalar) n.index = scalar_of_[static_cast<std::size_t>(n.index)];
  for (std::size_t r = 0; r < fragments_.size(); ++r) c.operands.push_back({fragments_[r].buffer, place_of_point(r)});
  return nest(joined(result_loops(1)), {{c, {}}}, true).front();
}

Body StageLowering::results() {
  Body body;
  const auto on_all = [&](int target, std::vector<Node> nodes) {
    Compute c{{target, result_position(1)}, Reducer::kNone, std::move(nodes), {{accumulators_, result_position(1)}}};
    body = with(std::move(body), nest(joined(result_loops(1)), {{c, {}}}, true));
  };
  if (stage().reducer == Reducer::kMean && !split())
    on_all(
        accumulators_,
        {read_of(0), number(static_cast<double>(space().reduced)), {.kind = NodeKind::kDivide, .left = 0, .right = 1}});
  if (results_ != accumulators_) on_all(results_, {read_of(0)});
  body.push_back(store(results_));
  return body;
}

Statement StageLowering::store(int registers) {
  const std::int64_t vector = p_.operands.back().vector;
  const std::vector<std::vector<AxisLoop>> by_axis = result_loops(vector);
  const StepPosition begin = indices_.at_step(constant(0));
  std::vector<Affine> local = local_values(by_axis);
  if (p_.matrix) add_lane(local);
  const std::vector<Affine> axes = absolute_values(local, begin);
  Located to = addresses_.in_memory(space().output, tile::output_read(space().stage()), axes);
  to.inside.clear();
  for (std::size_t a = 0; a < space().spatial; ++a)
    if (maker_.range(axes[a]).high >= space().axes[a].extent) to.inside.push_back({axes[a], space().axes[a].extent});
  if (split()) {
    const expr::Tensor& t = expression().tensors[static_cast<std::size_t>(space().output.tensor)];
    to.offset = to.offset + indices_.part() * t.elements();
  }
  check_aligned(space().output.name, to, vector);
  Copy copy{{memory_.back(), to.offset}, {registers, result_position(vector)}, vector, to.inside, {}};
  return noted(nest(joined(by_axis), {{copy, {}}}, true).front(), "store " + space().output.name);
}

}  // namespace tilescope::lower
