// Bringing a step's data tiles into the scratchpad: thread t copies pieces t, t + T, ... of a tile in its own order, or
// a chunk of neighbours.

#include <algorithm>
#include <limits>

#include "base/integer.h"
#include "lower/stage_lowering.h"
#include "tile/core_matrices.h"

namespace tilescope::lower {
namespace {

// Pieces of one thread that are between memory and scratchpad at a time: as many as the registers hold with which the
// chip's compiler unrolls a copy loop, all loads first, then the stores. More would cost resident blocks.
std::int64_t most_in_flight(const arch::ArchSpec& chip, std::int64_t piece_bytes) {
  if (!chip.compiler || !chip.compiler->copy_registers) return std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kRegisterBytes = 4;
  return std::max<std::int64_t>(1, *chip.compiler->copy_registers * kRegisterBytes / piece_bytes);
}

}  // namespace

void StageLowering::add_staged_tile(std::size_t i) {
  const tile::Operand& o = space().inputs[i];
  const tile::OperandPlan& plan = p_.operands[i];
  StagedTile t;
  t.shape = tile::data_tile(o, p_.block);
  t.pitch = t.shape;
  t.slot_elements = 1;
  for (std::size_t d = t.shape.size(); d-- > 0;) {
    t.pitch[d] = t.slot_elements;
    t.slot_elements *= t.shape[d] + (d + 1 == t.shape.size() ? plan.padding : 0);
  }
  const base::Dtype dtype = expression().tensors[static_cast<std::size_t>(o.tensor)].dtype;
  const std::int64_t begin = staging_.begins[i].n;
  if (plan.box != 0) {
    t.shared = add_buffer(
        {o.name + "_tile", Space::kShared, dtype, t.slot_elements * slots(), -1, begin, plan.box * o.element.n});
    tiles_[i] = t;
    return;
  }
  const std::int64_t row = t.shape.empty() ? 1 : t.shape.back();
  if (row % plan.vector != 0)
    why_.push_back("operand " + o.name + ": rows of its staged tile are no multiple of its vector");
  t.pieces = tile::data_tile_elements(o, p_.block) / plan.vector;
  t.each = base::ceil_div(t.pieces, p_.threads());
  const std::int64_t most = most_in_flight(chip_, plan.vector * o.element.n);
  t.batches = asynchronous(i) ? 1 : base::ceil_div(t.each, most);
  t.batch = base::ceil_div(t.each, t.batches);
  if (t.batch > 1) t.piece_loop = maker_.loop(o.name + "_piece", t.batch);
  t.shared = add_buffer({o.name + "_tile", Space::kShared, dtype, t.slot_elements * slots(), -1, begin});
  if (!asynchronous(i))
    t.in_flight = add_buffer({o.name + "_next", Space::kRegister, dtype, t.batch * plan.vector, -1, 0});
  tiles_[i] = t;
}

bool StageLowering::asynchronous(std::size_t i) const {
  const auto least = chip_.core.async_copy;
  if (slots() == 1 || !least) return false;
  return p_.operands[i].vector * space().inputs[i].element.n >= least->n;
}

bool StageLowering::any_asynchronous() const {
  return std::any_of(tiles_.begin(), tiles_.end(),
                     [](const StagedTile& t) { return t.shared >= 0 && t.in_flight < 0; });
}

bool StageLowering::one_batch() const {
  return std::all_of(tiles_.begin(), tiles_.end(), [](const StagedTile& t) { return t.batches == 1; });
}

StageLowering::Piece StageLowering::piece(std::size_t i, std::int64_t batch, bool in_flight) {
  const StagedTile& t = tiles_[i];
  const std::string& name = space().inputs[i].name;
  const std::int64_t vector = p_.operands[i].vector;
  Piece out;
  Affine turn = constant(batch * t.batch);
  if (t.batch > 1) {
    out.loops.push_back({t.piece_loop, t.batch, 1, 1});
    turn = turn + maker_.value(t.piece_loop);
    if (in_flight) out.in_flight = maker_.value(t.piece_loop) * vector;
  }
  const bool chunked = p_.operands[i].chunked;
  const Affine number = chunked ? maker_.thread() * t.each + turn : turn * p_.threads() + maker_.thread();
  if (chunked && maker_.range(turn).high >= t.each) out.when.push_back({turn, t.each});
  if (maker_.range(number).high >= t.pieces) out.when.push_back({number, t.pieces});
  std::int64_t faster = 1;
  out.at.resize(t.shape.size());
  for (std::size_t d = t.shape.size(); d-- > 0;) {
    const std::int64_t unit = d + 1 == t.shape.size() ? vector : 1;
    const std::int64_t size = t.shape[d] / unit;
    out.at[d] = maker_.quotient(number, faster, d == 0 ? 0 : size, name + "_at" + std::to_string(d)) * unit;
    faster *= size;
  }
  return out;
}

Affine StageLowering::in_slot(std::size_t i, const std::vector<Affine>& at, const Affine& slot) {
  if (p_.in_core_matrices()) return in_core_matrix(i, at, slot);
  const StagedTile& t = tiles_[i];
  Affine offset = slot * t.slot_elements;
  Affine row;  // in the tile's own order
  for (std::size_t d = 0; d + 1 < at.size(); ++d) {
    offset = offset + at[d] * t.pitch[d];
    row = row * t.shape[d] + at[d];
  }
  if (at.empty()) return offset;
  const std::int64_t swizzle = p_.operands[i].swizzle;
  if (swizzle == 0) return offset + at.back();
  return offset + maker_.quotient(at.back() + row * swizzle, 1, t.shape.back(), space().inputs[i].name + "_place");
}

Affine StageLowering::in_core_matrix(std::size_t i, const std::vector<Affine>& at, const Affine& slot) {
  const StagedTile& t = tiles_[i];
  const tile::CoreMatrices core = tile::core_matrices(p_, i);
  const std::string& name = space().inputs[i].name;
  Affine offset = slot * t.slot_elements;
  for (std::size_t d = 0; d + 2 < at.size(); ++d) offset = offset + at[d] * t.pitch[d];
  const auto part = [&](const Affine& a, std::int64_t of, const char* what) {
    const Affine whole = maker_.quotient(a, of, 0, name + what);
    return std::pair{whole, a - whole * of};
  };
  const auto [below, row] = part(at[at.size() - 2], tile::kCoreRows, "_below");
  const auto [beside, column] = part(at.back(), core.columns, "_beside");
  return offset + below * core.below + row * core.columns + beside * core.beside + column;
}

Located StageLowering::element_to_stage(std::size_t i, const std::vector<Affine>& at_in_tile, const StepPosition& at) {
  const tile::Operand& o = space().inputs[i];
  Located from = addresses_.tile_element(o, at_in_tile, at.begin);
  if (!p_.matrix) return from;
  // A warp's lanes multiply what they read together, beyond the end of a reduction too: zeros stand there.
  for (std::size_t d = 0; d < o.dims.size(); ++d)
    for (const expr::Term& t : o.dims[d].terms)
      if (const auto a = static_cast<std::size_t>(t.axis); a >= space().spatial)
        add_ends(a, at.begin[a] + at_in_tile[d], from.inside);
  return from;
}

Statement StageLowering::load_batch(std::size_t i, std::int64_t batch, const StepPosition& at) {
  const Piece p = piece(i, batch, true);
  const Located from = element_to_stage(i, p.at, at);
  const std::int64_t vector = p_.operands[i].vector;
  check_aligned(space().inputs[i].name, from, vector);
  Copy copy{{tiles_[i].in_flight, p.in_flight}, {memory_[i], from.offset}, vector, p.when, from.inside};
  Statement s = nest(p.loops, {{copy, {}}}, true).front();
  s.note = "load " + space().inputs[i].name;
  return s;
}

Statement StageLowering::keep_batch(std::size_t i, std::int64_t batch, const Affine& slot) {
  const Piece p = piece(i, batch, true);
  Copy copy{{tiles_[i].shared, in_slot(i, p.at, slot)},
            {tiles_[i].in_flight, p.in_flight},
            p_.operands[i].vector,
            p.when,
            {}};
  Statement s = nest(p.loops, {{copy, {}}}, true).front();
  s.note = "keep " + space().inputs[i].name;
  return s;
}

Body StageLowering::load_tiles(const StepPosition& at) {
  Body body;
  for (std::size_t i = 0; i < tiles_.size(); ++i)
    if (tiles_[i].in_flight >= 0) body.push_back(load_batch(i, 0, at));
  return body;
}

Body StageLowering::keep_tiles(const Affine& slot) {
  Body body;
  for (std::size_t i = 0; i < tiles_.size(); ++i)
    if (tiles_[i].in_flight >= 0) body.push_back(keep_batch(i, 0, slot));
  return body;
}

Body StageLowering::copy_tiles(const StepPosition& at, const Affine& slot) {
  Body body;
  for (std::size_t i = 0; i < tiles_.size(); ++i)
    for (std::int64_t batch = 0; tiles_[i].in_flight >= 0 && batch < tiles_[i].batches; ++batch) {
      body.push_back(load_batch(i, batch, at));
      body.push_back(keep_batch(i, batch, slot));
    }
  return body;
}

Body StageLowering::copy_tiles_asynchronously(const StepPosition& at, const Affine& slot) {
  Body body;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    if (tiles_[i].shared < 0 || tiles_[i].in_flight >= 0) continue;
    const Piece p = piece(i, 0, false);
    const Located from = element_to_stage(i, p.at, at);
    const std::int64_t vector = p_.operands[i].vector;
    check_aligned(space().inputs[i].name, from, vector);
    Copy copy{{tiles_[i].shared, in_slot(i, p.at, slot)}, {memory_[i], from.offset}, vector, p.when, from.inside, true};
    body.push_back(nest(p.loops, {{copy, {}}}, true).front());
    body.back().note = "copy " + space().inputs[i].name;
  }
  return body;
}

}  // namespace tilescope::lower
