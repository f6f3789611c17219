// What a thread reads of its operands into registers: at every point of the reduction, or several points at once.

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "arch/derive.h"
#include "base/integer.h"
#include "lower/stage_lowering.h"

namespace tilescope::lower {
namespace {

using tile::Operand;
using tile::TileDim;

constexpr std::int64_t kRegisterBytes = 4;

std::int64_t registers_of(std::int64_t elements, std::int64_t element_bytes) {
  return base::ceil_div(elements * element_bytes, kRegisterBytes);
}

}  // namespace

std::size_t StageLowering::first_equal(std::size_t r) const {
  return static_cast<std::size_t>(std::find(stage().reads.begin(), stage().reads.end(), read(r)) -
                                  stage().reads.begin());
}

std::int64_t StageLowering::fragment_elements(std::size_t r) const {
  std::int64_t elements = 1;
  for (std::size_t a = 0; a < space().spatial; ++a)
    if (space().inputs[operand_of_[r]].uses(static_cast<int>(a))) elements *= p_.mapping[a].thread_extent();
  return elements;
}

// The greatest power of two of points that lie side by side in the staged tile and begin at a multiple of themselves,
// whatever the other axes are; 1 where there is none.
std::int64_t StageLowering::points_at_once(std::size_t r, std::size_t axis) const {
  if (!staged(r)) return 1;
  const std::size_t i = operand_of_[r];
  const Operand& o = space().inputs[i];
  const StagedTile& t = tiles_[i];
  std::int64_t apart = std::gcd(indices_.points(axis), slots() > 1 ? t.slot_elements : 0);
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
    if (!o.gathered) apart = std::gcd(apart, read(r).at[dim.first_dim].offset - dim.low);
  }
  if (!side_by_side) return 1;
  if (const std::int64_t swizzle = p_.operands[i].swizzle; swizzle != 0)
    apart = std::gcd(apart, std::gcd(swizzle, t.shape.back()));
  const std::int64_t widest = std::max<std::int64_t>(1, arch::widest_access_of(chip_).n / o.element.n);
  return std::gcd(apart, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(widest))));
}

bool StageLowering::windowed() const {
  return std::any_of(p_.thread.begin() + space().spatial, p_.thread.end(), [](std::int64_t n) { return n > 1; });
}

void StageLowering::cut_points() {
  at_once_.assign(stage().reads.size(), 1);
  const std::optional<std::size_t> axis = indices_.innermost();
  if (!axis || at_once_.empty() || windowed()) return;
  for (std::size_t r = 0; r < at_once_.size(); ++r) at_once_[r] = points_at_once(r, *axis);
  std::int64_t held = 0;
  for (const Buffer& b : kernel_.buffers)
    if (b.space == Space::kRegister) held += registers_of(b.elements, base::size_of(b.dtype).n);
  const auto needed = [&](std::int64_t length) {
    std::int64_t n = held;
    for (std::size_t r = 0; r < at_once_.size(); ++r)
      if (first_equal(r) == r)
        n += registers_of(fragment_elements(r) * (at_once_[r] > 1 ? length : 1),
                          space().inputs[operand_of_[r]].element.n);
    return n;
  };
  std::int64_t length = *std::max_element(at_once_.begin(), at_once_.end());
  while (length > 1 && needed(length) > arch::most_registers(chip_, p_.threads())) length /= 2;
  if (length == 1) at_once_.assign(at_once_.size(), 1);
  if (length > 1) indices_.cut(*axis, length);
}

// What virtual threads stride apart first, then, dimension by dimension, the runs and axes of a window.
std::vector<Digit> StageLowering::digits_of_window(const Operand& o) const {
  std::vector<Digit> far, near;
  std::array<bool, tile::kMaxAxes> done{};
  const auto once = [&](std::size_t axis) { return !std::exchange(done[axis], true); };
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const bool run = tile::reads_window(p_, o, d);
    std::size_t beside = 0;
    for (const expr::Term& t : o.dims[d].terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      const tile::AxisMapping& m = indices_.mapping(a);
      if (t.coefficient == 1) beside = a;
      if (!once(a)) continue;
      if (run && m.virtual_threads > 1) far.push_back({Digit::kFar, a, 0, m.virtual_threads});
      if (!run && m.thread_extent() > 1) near.push_back({Digit::kAxis, a, 0, m.thread_extent()});
    }
    if (run) near.push_back({Digit::kRun, beside, d, tile::window_extent(p_, o.dims[d])});
  }
  far.insert(far.end(), near.begin(), near.end());
  return far;
}

void StageLowering::add_fragments() {
  for (std::size_t r = 0; r < stage().reads.size(); ++r) {
    if (const std::size_t e = first_equal(r); e < r) {
      fragments_.push_back(fragments_[e]);
      continue;
    }
    const Operand& o = space().inputs[operand_of_[r]];
    Fragment f;
    const auto add = [&](std::size_t a) {
      f.digits.push_back({Digit::kAxis, a, 0, indices_.mapping(a).thread_extent()});
    };
    const int neighbours = neighbour_axis(o);
    f.of_chunk = at_once_[r] > 1 || windowed();
    if (windowed()) {
      f.digits = digits_of_window(o);
      const Digit last = f.digits.empty() ? Digit{} : f.digits.back();
      f.side_by_side = last.kind == Digit::kRun ? last.dim + 1 == o.dims.size()
                                                : !f.digits.empty() && static_cast<int>(last.axis) == neighbours;
    } else {
      for (std::size_t a = 0; a < space().spatial; ++a)
        if (o.uses(static_cast<int>(a)) && static_cast<int>(a) != neighbours) add(a);
      if (neighbours >= 0) add(static_cast<std::size_t>(neighbours));
      if (f.of_chunk) add(indices_.innermost().value());
      f.side_by_side = neighbours >= 0 || f.of_chunk;
    }
    std::int64_t elements = 1;
    for (const Digit& d : f.digits) elements *= d.extent;
    const base::Dtype dtype = expression().tensors[static_cast<std::size_t>(o.tensor)].dtype;
    const std::string tap = r == static_cast<std::size_t>(o.reads.front()) ? "" : std::to_string(r);
    f.buffer = add_buffer({o.name + tap + "_part", Space::kRegister, dtype, elements, -1, 0});
    fragments_.push_back(std::move(f));
  }
}

std::vector<AxisLoop> StageLowering::loops_over(const Digit& digit, std::int64_t vector) {
  if (digit.kind == Digit::kAxis) return indices_.thread_loops(digit.axis, vector);
  if (digit.kind == Digit::kRun) return indices_.run_loops(digit.axis, digit.extent, vector);
  std::vector<AxisLoop> far = indices_.far_loops(digit.axis);
  for (AxisLoop& l : far) l.position = 1;
  return far;
}

Affine StageLowering::place_of_point(std::size_t r) {
  const Operand& o = space().inputs[operand_of_[r]];
  Affine place;
  for (const Digit& digit : fragments_[r].digits) {
    Affine along;
    if (digit.kind == Digit::kRun)
      for (const expr::Term& t : o.dims[digit.dim].terms)
        along = along + indices_.position(indices_.near_loops(static_cast<std::size_t>(t.axis), 1)) * t.coefficient;
    else
      along = indices_.position(loops_over(digit, 1));
    place = place * digit.extent + along;
  }
  return place;
}

Body StageLowering::fragments(bool of_chunk, const StepPosition& at, const Affine& slot,
                              const std::vector<Guard>& known_inside) {
  Body body;
  for (std::size_t r = 0; r < fragments_.size(); ++r)
    if (fragments_[r].of_chunk == of_chunk && first_equal(r) == r) body.push_back(fragment(r, at, slot, known_inside));
  return body;
}

StageLowering::FragmentRead StageLowering::read_of_fragment(std::size_t r, std::int64_t vector, const StepPosition& at,
                                                            const Affine& slot) {
  const std::size_t i = operand_of_[r];
  const Operand& o = space().inputs[i];
  const Fragment& f = fragments_[r];
  FragmentRead out;
  std::vector<std::vector<AxisLoop>> by_axis(space().axes.size());
  if (!windowed())  // inside the loops over points
    for (std::size_t a = space().spatial; a < by_axis.size(); ++a) by_axis[a] = indices_.thread_loops(a, 1);
  std::array<bool, tile::kMaxAxes> set{};
  for (const Digit& digit : f.digits) {
    const std::vector<AxisLoop> loops = loops_over(digit, &digit == &f.digits.back() && f.side_by_side ? vector : 1);
    out.place = out.place * digit.extent + indices_.position(loops);
    if (!std::exchange(set[digit.axis], true)) by_axis[digit.axis].clear();
    for (const AxisLoop& l : loops) by_axis[digit.axis].push_back(l);
    out.loops.insert(out.loops.end(), loops.begin(), loops.end());
  }
  const std::vector<Affine> local = local_values(by_axis);
  const std::vector<Affine> axes = absolute_values(local, at);
  if (!staged(r)) {
    out.from = addresses_.in_memory(o, read(r), axes);
  } else {
    TilePlace place = addresses_.in_tile(o, read(r), local, axes);
    out.from = {in_slot(i, place.at, slot), std::move(place.inside)};
  }
  return out;
}

std::int64_t StageLowering::widest_read(std::size_t r, const StepPosition& at, const Affine& slot) {
  const std::size_t i = operand_of_[r];
  const Operand& o = space().inputs[i];
  const Fragment& f = fragments_[r];
  if (!staged(r)) return p_.operands[i].vector;
  if (!f.side_by_side) return 1;
  const Digit& last = f.digits.back();
  const std::int64_t neighbours = last.kind == Digit::kRun ? last.extent : indices_.mapping(last.axis).serial;
  const std::int64_t widest = arch::widest_access_of(chip_).n / o.element.n;
  // A rotated row ends where it began: neighbours stay neighbours in pieces that rotations and the row are multiples
  // of.
  const std::int64_t swizzle = p_.operands[i].swizzle;
  const std::int64_t whole =
      swizzle == 0 ? neighbours : std::gcd(std::gcd(swizzle, tiles_[i].shape.back()), neighbours);
  std::int64_t vector = 1;
  for (std::int64_t v = 2; v <= widest && whole % v == 0; v *= 2) {
    if (alignment_of(read_of_fragment(r, v, at, slot).from.offset, v) != v) break;
    vector = v;
  }
  return vector;
}

Statement StageLowering::fragment(std::size_t r, const StepPosition& at, const Affine& slot,
                                  const std::vector<Guard>& known_inside) {
  const std::size_t i = operand_of_[r];
  const std::int64_t vector = widest_read(r, at, slot);
  FragmentRead f = read_of_fragment(r, vector, at, slot);
  std::erase_if(f.from.inside, [&](const Guard& g) {
    return std::find(known_inside.begin(), known_inside.end(), g) != known_inside.end();
  });
  if (!staged(r)) check_aligned(space().inputs[i].name, f.from, vector);
  Copy copy{{fragments_[r].buffer, f.place},
            {staged(r) ? tiles_[i].shared : memory_[i], f.from.offset},
            vector,
            {},
            f.from.inside};
  return nest(f.loops, {{copy, {}}}, true).front();
}

}  // namespace tilescope::lower
