// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/fma.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "arch/derive.h"
#include "base/integer.h"
#include "tile/fit.h"

namespace tilescope::lower {
namespace {

using tile::Operand;
using tile::TileDim;

std::int64_t registers_of(std::int64_t elements, std::int64_t element_bytes) {
  return base::ceil_div(elements * element_bytes, tile::kRegisterBytes);
}

}  // namespace

std::int64_t FmaLowering::fragment_elements(std::size_t r) const {
  std::int64_t elements = 1;
  for (std::size_t a = 0; a < s_.space().spatial; ++a)
    if (s_.space().inputs[s_.operand_of(r)].uses(static_cast<int>(a))) elements *= s_.p.mapping[a].thread_extent();
  return elements;
}

// The greatest power of two of iterations whose elements lie side by side in the cached tile and begin at a multiple of
// themselves, whatever the other axes are; 1 where there is none.
std::int64_t FmaLowering::points_at_once(std::size_t r, std::size_t axis) const {
  if (!s_.cached(r)) return 1;
  const std::size_t i = s_.operand_of(r);
  const Operand& o = s_.space().inputs[i];
  const CachedTile& t = s_.tiles[i];
  std::int64_t apart = std::gcd(s_.indices.points(axis), s_.stages_held() > 1 ? t.ring_stage_elements : 0);
  bool side_by_side = false;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const TileDim& dim = o.dims[d];
    if (t.shape[d] == 1) continue;
    if (std::none_of(dim.terms.begin(), dim.terms.end(),
                     [&](const expr::Term& term) { return static_cast<std::size_t>(term.axis) == axis; })) {
      apart = std::gcd(apart, t.pitch[d]);
      continue;
    }
    if (side_by_side || dim.whole || dim.terms.size() != 1 || dim.terms[0].coefficient != 1 || t.pitch[d] != 1)
      return 1;
    side_by_side = true;
    if (!o.im2col) apart = std::gcd(apart, s_.addresses.coordinate_of(o, s_.read(r), dim).offset - dim.low);
  }
  if (!side_by_side) return 1;
  if (const std::int64_t rotate = s_.p.operands[i].rotate; rotate != 0)
    apart = std::gcd(apart, std::gcd(rotate, t.shape.back()));
  const std::int64_t widest = std::max<std::int64_t>(1, arch::widest_access_of(s_.chip).n / o.element.n);
  return std::gcd(apart, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(widest))));
}

bool FmaLowering::tiles_reduction() const {
  return std::any_of(s_.p.thread.begin() + s_.space().spatial, s_.p.thread.end(), [](std::int64_t n) { return n > 1; });
}

void FmaLowering::cut_points() {
  at_once_.assign(s_.stage().reads.size(), 1);
  const std::optional<std::size_t> axis = s_.indices.innermost();
  // Threads that share a reduction take what the register tile says.
  if (!axis || at_once_.empty() || tiles_reduction() || s_.p.sharers() > 1) return;
  for (std::size_t r = 0; r < at_once_.size(); ++r) at_once_[r] = points_at_once(r, *axis);
  std::int64_t held = 0;
  for (const Buffer& b : s_.block.kernel().buffers)
    if (b.space == Space::kRegister) held += registers_of(b.elements, base::size_of(b.dtype).n);
  const auto needed = [&](std::int64_t length) {
    std::int64_t n = held;
    for (std::size_t r = 0; r < at_once_.size(); ++r)
      if (s_.first_equal(r) == r)
        n += registers_of(fragment_elements(r) * (at_once_[r] > 1 ? length : 1),
                          s_.space().inputs[s_.operand_of(r)].element.n);
    return n;
  };
  std::int64_t length = *std::max_element(at_once_.begin(), at_once_.end());
  while (length > 1 && needed(length) > arch::max_registers(s_.chip, s_.p.threads())) length /= 2;
  if (length == 1) at_once_.assign(at_once_.size(), 1);
  if (length > 1) s_.indices.cut(*axis, length);
}

// What vthreads stride apart first, then, dimension by dimension, the runs and axes of a register tile.
std::vector<Digit> FmaLowering::digits_of_reduction_tile(const Operand& o) const {
  std::vector<Digit> far, near;
  std::array<bool, tile::kMaxAxes> done{};
  const auto once = [&](std::size_t axis) { return !std::exchange(done[axis], true); };
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const bool run = tile::reads_reduction_tile(s_.p, o, d);
    std::size_t beside = 0;
    for (const expr::Term& t : o.dims[d].terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      const tile::AxisMapping& m = s_.indices.mapping(a);
      if (t.coefficient == 1) beside = a;
      if (!once(a)) continue;
      if (run && m.vthread > 1) far.push_back({Digit::kFar, a, 0, m.vthread});
      if (!run && m.thread_extent() > 1) near.push_back({Digit::kAxis, a, 0, m.thread_extent()});
    }
    if (run) near.push_back({Digit::kRun, beside, d, tile::reduction_tile_extent(s_.p, o.dims[d])});
  }
  far.insert(far.end(), near.begin(), near.end());
  return far;
}

Fragment FmaLowering::make_fragment(std::size_t r) {
  const Operand& o = s_.space().inputs[s_.operand_of(r)];
  Fragment f;
  const auto add = [&](std::size_t a) {
    f.digits.push_back({Digit::kAxis, a, 0, s_.indices.mapping(a).thread_extent()});
  };
  const int neighbours = s_.neighbour_axis(o);
  f.of_chunk = at_once_[r] > 1 || tiles_reduction();
  if (tiles_reduction()) {
    f.digits = digits_of_reduction_tile(o);
    const Digit last = f.digits.empty() ? Digit{} : f.digits.back();
    f.side_by_side = last.kind == Digit::kRun ? last.dim + 1 == o.dims.size()
                                              : !f.digits.empty() && static_cast<int>(last.axis) == o.contiguous_axis();
  } else {
    for (std::size_t a = 0; a < s_.space().spatial; ++a)
      if (o.uses(static_cast<int>(a)) && static_cast<int>(a) != neighbours) add(a);
    if (neighbours >= 0) add(static_cast<std::size_t>(neighbours));
    if (f.of_chunk) add(s_.indices.innermost().value());
    f.side_by_side = neighbours >= 0 || f.of_chunk;
  }
  std::int64_t elements = 1;
  for (const Digit& d : f.digits) elements *= d.extent;
  const std::string tap = r == static_cast<std::size_t>(o.reads.front()) ? "" : std::to_string(r);
  f.buffer = s_.block.registers(o.name + tap + "_part", s_.tensor_of(o).dtype, elements);
  return f;
}

void FmaLowering::add_registers() {
  cut_points();
  for (std::size_t r = 0; r < s_.stage().reads.size(); ++r) {
    const std::size_t e = s_.first_equal(r);
    fragments_.push_back(!in_registers(r) ? Fragment{} : e < r ? fragments_[e] : make_fragment(r));
  }
}

bool FmaLowering::in_registers(std::size_t r) const { return tile::in_registers(s_.p, s_.operand_of(r)); }

std::vector<AxisLoop> FmaLowering::loops_over(const Digit& digit, std::int64_t vector) {
  if (digit.kind == Digit::kAxis) return s_.indices.thread_loops(digit.axis, vector);
  if (digit.kind == Digit::kRun) return s_.indices.run_loops(digit.axis, digit.extent, vector);
  std::vector<AxisLoop> far = s_.indices.far_loops(digit.axis);
  for (AxisLoop& l : far) l.position = 1;
  return far;
}

Affine FmaLowering::place_of_point(std::size_t r) {
  const Operand& o = s_.space().inputs[s_.operand_of(r)];
  Affine place;
  for (const Digit& digit : fragments_[r].digits) {
    Affine along;
    if (digit.kind == Digit::kRun)
      for (const expr::Term& t : o.dims[digit.dim].terms)
        along = along + s_.indices.position(s_.indices.near_loops(static_cast<std::size_t>(t.axis), 1)) * t.coefficient;
    else
      along = s_.indices.position(loops_over(digit, 1));
    place = place * digit.extent + along;
  }
  return place;
}

Body FmaLowering::fragments(bool of_chunk, const StepPosition& at, const Affine& ring_stage,
                            const std::vector<Guard>& known_inside) {
  Body body;
  for (std::size_t r = 0; r < fragments_.size(); ++r)
    if (in_registers(r) && fragments_[r].of_chunk == of_chunk && s_.first_equal(r) == r)
      body.push_back(fragment(r, at, ring_stage, known_inside));
  return body;
}

FmaLowering::FragmentRead FmaLowering::read_of_fragment(std::size_t r, std::int64_t vector, const StepPosition& at,
                                                        const Affine& ring_stage) {
  const std::size_t i = s_.operand_of(r);
  const Operand& o = s_.space().inputs[i];
  const Fragment& f = fragments_[r];
  FragmentRead out;
  std::vector<std::vector<AxisLoop>> by_axis(s_.space().axes.size());
  if (!tiles_reduction())  // inside the loops over iterations
    for (std::size_t a = s_.space().spatial; a < by_axis.size(); ++a) by_axis[a] = s_.indices.thread_loops(a, 1);
  std::array<bool, tile::kMaxAxes> set{};
  for (const Digit& digit : f.digits) {
    const std::vector<AxisLoop> loops = loops_over(digit, &digit == &f.digits.back() && f.side_by_side ? vector : 1);
    out.place = out.place * digit.extent + s_.indices.position(loops);
    if (!std::exchange(set[digit.axis], true)) by_axis[digit.axis].clear();
    for (const AxisLoop& l : loops) by_axis[digit.axis].push_back(l);
    out.loops.insert(out.loops.end(), loops.begin(), loops.end());
  }
  const std::vector<Affine> local = s_.local_values(by_axis);
  const std::vector<Affine> axes = s_.absolute_values(local, at);
  if (const KeptTile* tile = s_.kept(r)) {
    out.from = s_.addresses.in_kept_tile(o, s_.read(r), axes, tile->begin, tile->shape, tile->pitch);
    if (vector > 1)
      out.together = s_.addresses.neighbours_in_kept_tile(o, s_.read(r), axes, tile->begin, tile->shape, vector);
  } else if (o.gathered && !s_.cached(r)) {
    const tile::GatheredDim& g = *o.gathered;
    Gather& gather = out.gather.emplace();
    gather.table.buffer = s_.memory[g.table];
    out.from = s_.addresses.gathered_in_memory(o, s_.read(r), axes, gather.table.offset);
    const Fragment& table = fragments_[static_cast<std::size_t>(g.read)];
    gather.index.buffer = table.buffer;
    for (const Digit& digit : table.digits)
      gather.index.offset = gather.index.offset * digit.extent + s_.indices.position(by_axis[digit.axis]);
    gather.stride = g.stride;
    gather.extent = g.extent;
  } else if (!s_.cached(r)) {
    out.from = s_.addresses.in_memory(o, s_.read(r), axes);
  } else {
    TilePlace place = s_.addresses.in_tile(o, s_.read(r), local, axes);
    out.from = {in_ring_stage(i, place.at, ring_stage), std::move(place.inside)};
  }
  return out;
}

std::int64_t FmaLowering::widest_read(std::size_t r, const StepPosition& at, const Affine& ring_stage) {
  const std::size_t i = s_.operand_of(r);
  const Operand& o = s_.space().inputs[i];
  const Fragment& f = fragments_[r];
  const KeptTile* kept = s_.kept(r);
  if (kept == nullptr && !s_.cached(r)) return s_.p.operands[i].vector;
  if (!f.side_by_side || (kept != nullptr && kept->pitch.back() != 1)) return 1;
  const Digit& last = f.digits.back();
  const std::int64_t neighbours = last.kind == Digit::kRun ? last.extent : s_.indices.mapping(last.axis).per_thread;
  const std::int64_t widest = arch::widest_access_of(s_.chip).n / o.element.n;
  // A rotated row ends where it began: neighbours stay neighbours in pieces that rotations and the row are multiples
  // of.
  const std::int64_t rotate = s_.p.operands[i].rotate;
  const std::int64_t whole =
      rotate == 0 ? neighbours : std::gcd(std::gcd(rotate, s_.tiles[i].shape.back()), neighbours);
  std::int64_t vector = 1;
  for (std::int64_t v = 2; v <= widest && whole % v == 0; v *= 2) {
    const FragmentRead read = read_of_fragment(r, v, at, ring_stage);
    if (!read.together || alignment_of(read.from.offset, v) != v) break;
    vector = v;
  }
  return vector;
}

Statement FmaLowering::fragment(std::size_t r, const StepPosition& at, const Affine& ring_stage,
                                const std::vector<Guard>& known_inside) {
  const std::size_t i = s_.operand_of(r);
  const std::int64_t vector = widest_read(r, at, ring_stage);
  FragmentRead f = read_of_fragment(r, vector, at, ring_stage);
  std::erase_if(f.from.inside, [&](const Guard& g) {
    return std::find(known_inside.begin(), known_inside.end(), g) != known_inside.end();
  });
  const KeptTile* kept = s_.kept(r);
  if (kept == nullptr && !s_.cached(r)) s_.check_aligned(s_.space().inputs[i].name, f.from, vector);
  const int from = kept != nullptr ? kept->shared : s_.cached(r) ? s_.tiles[i].shared : s_.memory[i];
  Copy copy{{fragments_[r].buffer, f.place}, {from, f.from.offset}, vector, {}, f.from.inside};
  copy.gather = std::move(f.gather);
  return nest(f.loops, {{copy, {}}}, true).front();
}

std::vector<Guard> FmaLowering::inside_reduction(const StepPosition& at) {
  std::vector<Guard> inside;
  for (std::size_t a = s_.space().spatial; a < s_.space().axes.size(); ++a)
    s_.add_ends(a, at.begin[a] + s_.indices.along(a, s_.indices.thread_loops(a, 1)), inside);
  return inside;
}

Statement FmaLowering::arithmetic(const StepPosition& at, const std::vector<Guard>& inside) {
  // A mean is summed first and divided when all is summed.
  const expr::Reducer reducer = s_.stage().reducer;
  Compute c{{s_.results.accumulators, result_position(1)},
            reducer == expr::Reducer::kMean ? expr::Reducer::kSum : reducer,
            s_.body(),
            {},
            inside};
  std::vector<bool> used(fragments_.size(), !s_.space().gathers);  // of a table only its copies may have a use
  for (const expr::Node& n : c.body)
    if (n.kind == expr::NodeKind::kRead) used[static_cast<std::size_t>(n.index)] = true;
  std::vector<int> operand_of;
  for (std::size_t r = 0; r < fragments_.size(); ++r) {
    operand_of.push_back(static_cast<int>(c.operands.size()));
    if (used[r]) c.operands.push_back({fragments_[r].buffer, place_of_point(r)});
  }
  for (expr::Node& n : c.body)
    if (n.kind == expr::NodeKind::kRead) n.index = operand_of[static_cast<std::size_t>(n.index)];
  if (!s_.stage().indices.empty()) {
    std::vector<std::vector<AxisLoop>> loops = result_loops(1);
    for (std::size_t a = s_.space().spatial; a < loops.size(); ++a) loops[a] = s_.indices.thread_loops(a, 1);
    c.indices = s_.indices_of_body(s_.absolute_values(s_.local_values(loops), at));
  }
  return nest(joined(result_loops(1)), {{c, {}}}, true).front();
}

Body FmaLowering::finish(const Affine& step, const Affine& ring_stage) {
  const StepPosition at = s_.indices.at_step(step);
  std::vector<Guard> inside = inside_reduction(at);
  // Threads that share the reduction reach its end at different times, and each leaves out what is beyond.
  const bool each = s_.p.sharers() > 1;
  Body of_point = fragments(false, at, ring_stage, each ? std::vector<Guard>{} : inside);
  of_point.push_back(arithmetic(at, each ? inside : std::vector<Guard>{}));
  if (!each && !inside.empty()) {
    Body guarded;
    guarded.push_back({If{std::move(inside), std::move(of_point)}, {}});
    of_point = std::move(guarded);
  }
  // What a chunk reads beyond an edge is in the tile all the same, and no iteration uses it. Registers have no
  // addresses: the loop that tells a chunk's iterations apart is unrolled wholly.
  Body of_chunk = fragments(true, at, ring_stage, {});
  return s_.in_chunk_loops(with(std::move(of_chunk), nest(s_.indices.point_loops(), std::move(of_point), true)), 1);
}

}  // namespace tilescope::lower
