// What a thread reads of its operands into registers: at every point of the reduction, or several points at once.

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

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

// What a compiler may give a thread: a block has to fit the core.
std::int64_t most_registers(const arch::ArchSpec& chip, std::int64_t threads) {
  const arch::LevelSpec* level = arch::registers_of(chip);
  if (level == nullptr) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t all = arch::registers_per_core(*level);
  return std::min(level->per_thread.value_or(all), all / threads);
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

void StageLowering::cut_points() {
  at_once_.assign(stage().reads.size(), 1);
  const std::optional<std::size_t> axis = indices_.innermost();
  if (!axis || at_once_.empty()) return;
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
  while (length > 1 && needed(length) > most_registers(chip_, p_.threads())) length /= 2;
  if (length == 1) at_once_.assign(at_once_.size(), 1);
  if (length > 1) indices_.cut_innermost(length);
}

void StageLowering::add_fragments() {
  for (std::size_t r = 0; r < stage().reads.size(); ++r) {
    if (const std::size_t e = first_equal(r); e < r) {
      fragments_.push_back(fragments_[e]);
      continue;
    }
    const Operand& o = space().inputs[operand_of_[r]];
    Fragment f;
    f.neighbours = neighbour_axis(o);
    f.of_chunk = at_once_[r] > 1;
    for (std::size_t a = 0; a < space().spatial; ++a)
      if (o.uses(static_cast<int>(a)) && static_cast<int>(a) != f.neighbours) f.axes.push_back(a);
    if (f.neighbours >= 0) f.axes.push_back(static_cast<std::size_t>(f.neighbours));
    if (f.of_chunk) {
      f.axes.push_back(indices_.innermost().value());
      f.neighbours = static_cast<int>(f.axes.back());
    }
    std::int64_t elements = 1;
    for (const std::size_t a : f.axes) elements *= indices_.mapping(a).thread_extent();
    const base::Dtype dtype = expression().tensors[static_cast<std::size_t>(o.tensor)].dtype;
    const std::string tap = r == static_cast<std::size_t>(o.reads.front()) ? "" : std::to_string(r);
    f.buffer = add_buffer({o.name + tap + "_part", Space::kRegister, dtype, elements, -1, 0});
    fragments_.push_back(std::move(f));
  }
}

Body StageLowering::fragments(bool of_chunk, const StepPosition& at, const Affine& slot,
                              const std::vector<Guard>& known_inside) {
  Body body;
  for (std::size_t r = 0; r < fragments_.size(); ++r)
    if (fragments_[r].of_chunk == of_chunk && first_equal(r) == r) body.push_back(fragment(r, at, slot, known_inside));
  return body;
}

Statement StageLowering::fragment(std::size_t r, const StepPosition& at, const Affine& slot,
                                  const std::vector<Guard>& known_inside) {
  const std::size_t i = operand_of_[r];
  const Operand& o = space().inputs[i];
  const Fragment& f = fragments_[r];
  const auto located = [&](std::int64_t vector, std::vector<AxisLoop>& loops, Affine& position) {
    std::vector<std::vector<AxisLoop>> by_axis(space().axes.size());
    for (std::size_t a = space().spatial; a < by_axis.size(); ++a) by_axis[a] = indices_.thread_loops(a, 1);
    position = {};
    for (const std::size_t a : f.axes) {
      by_axis[a] = indices_.thread_loops(a, static_cast<int>(a) == f.neighbours ? vector : 1);
      position = position * indices_.mapping(a).thread_extent() + indices_.position(by_axis[a]);
      loops.insert(loops.end(), by_axis[a].begin(), by_axis[a].end());
    }
    const std::vector<Affine> local = local_values(by_axis);
    const std::vector<Affine> axes = absolute_values(local, at);
    if (!staged(r)) return addresses_.in_memory(o, read(r), axes);
    TilePlace place = addresses_.in_tile(o, read(r), local, axes);
    return Located{in_slot(i, place.at, slot), std::move(place.inside)};
  };
  std::int64_t vector = staged(r) ? 1 : p_.operands[i].vector;
  std::vector<AxisLoop> loops;
  Affine position;
  if (staged(r) && f.neighbours >= 0) {  // the widest that is aligned wherever the thread stands
    const std::int64_t serial = indices_.mapping(static_cast<std::size_t>(f.neighbours)).serial;
    const std::int64_t widest = arch::widest_access_of(chip_).n / o.element.n;
    // A rotated row ends where it began: neighbours stay neighbours in pieces that rotations and the row are multiples
    // of.
    const std::int64_t swizzle = p_.operands[i].swizzle;
    const std::int64_t whole = swizzle == 0 ? serial : std::gcd(std::gcd(swizzle, tiles_[i].shape.back()), serial);
    for (std::int64_t v = 2; v <= widest && whole % v == 0; v *= 2) {
      loops.clear();
      if (alignment_of(located(v, loops, position).offset, v) != v) break;
      vector = v;
    }
  }
  loops.clear();
  Located from = located(vector, loops, position);
  std::erase_if(from.inside, [&](const Guard& g) {
    return std::find(known_inside.begin(), known_inside.end(), g) != known_inside.end();
  });
  if (!staged(r)) check_aligned(o.name, from, vector);
  Copy copy{{f.buffer, position}, {staged(r) ? tiles_[i].shared : memory_[i], from.offset}, vector, {}, from.inside};
  return nest(loops, {{copy, {}}}, true).front();
}

}  // namespace tilescope::lower
