#include "lower/simt/transfer/per_thread.h"

#include <algorithm>

#include "tile/fit.h"

namespace tilescope::lower {
namespace {

// Pieces of one thread that are between memory and scratchpad at a time: as many as the registers hold with which the
// chip's compiler unrolls a copy loop, all loads first, then the stores. More would cost resident blocks. All `pieces`
// where nothing is known of the compiler.
std::int64_t most_in_flight(const arch::ArchSpec& chip, std::int64_t pieces, std::int64_t piece_bytes) {
  if (!chip.compiler || !chip.compiler->copy_registers) return std::max<std::int64_t>(1, pieces);
  return std::max<std::int64_t>(1, *chip.compiler->copy_registers * tile::kRegisterBytes / piece_bytes);
}

}  // namespace

void PerThreadLowering::add_tile() {
  const std::int64_t vector = plan().vector;
  add_batches(most_in_flight(s_.chip, pieces_of_thread(), vector * operand().element.n));
  in_flight_ = s_.block.registers(operand().name + "_next", s_.tensor_of(operand()).dtype, batch_ * vector);
}

Statement PerThreadLowering::load_batch(std::int64_t batch, const StepPosition& at) {
  const Piece p = piece(batch);
  const Located from = in_memory(p.at, at);
  s_.check_aligned(operand().name, from, plan().vector);
  Copy copy{{in_flight_, p.in_flight}, {s_.memory[operand_], from.offset}, plan().vector, p.when, from.inside};
  return noted(nest(p.loops, {{copy, {}}}, true).front(), "load " + operand().name);
}

Statement PerThreadLowering::keep_batch(std::int64_t batch, const Affine& slot) {
  const Piece p = piece(batch);
  Copy copy{
      {tile().shared, products_.in_slot(operand_, p.at, slot)}, {in_flight_, p.in_flight}, plan().vector, p.when, {}};
  return noted(nest(p.loops, {{copy, {}}}, true).front(), "keep " + operand().name);
}

Body PerThreadLowering::copy(const StepPosition& at, const Affine& slot) {
  Body body;
  for (std::int64_t batch = 0; batch < batches_; ++batch) {
    body.push_back(load_batch(batch, at));
    body.push_back(keep_batch(batch, slot));
  }
  return body;
}

}  // namespace tilescope::lower
