#include "model/registers.h"

#include <algorithm>

#include "arch/derive.h"
#include "base/integer.h"
#include "model/occupancy.h"
#include "model/staged_use.h"
#include "model/warp_access.h"
#include "tile/microkernel/mma.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

using tile::kRegisterBytes;

// What a warp holds for a matrix instruction is shared among its lanes.
std::int64_t registers_for(const StageProgram& p, std::int64_t elements, base::Bytes element) {
  return base::ceil_div(base::ceil_div(elements, p.lanes()) * element.n, kRegisterBytes);
}

std::int64_t accumulators_of(const StageProgram& p) {
  const tile::TileSpace& space = *p.space;
  return registers_for(p, tile::data_tile_elements(space.output, p.thread), base::size_of(space.expression.accumulate));
}

// Of one point of the reduction, or of a window.
std::int64_t fragment_of(const StageProgram& p, std::size_t operand) {
  return static_cast<std::int64_t>(tile::fragment_elements(p, operand));
}

// Registers of those elements: copies of what other lanes hold included.
std::int64_t fragment_registers(const StageProgram& p, std::size_t operand, std::int64_t at_once) {
  std::int64_t elements = fragment_of(p, operand) * at_once;
  if (p.matrix() && !p.in_core_matrices()) {
    const tile::MatrixUnit& u = *p.matrix();
    const arch::FragmentMap& map = tile::fragment_map(u, operand);
    elements *= map.lane_count() * map.elements_of_lane() / ((operand == 0 ? u.m : u.n) * u.k);
  }
  return registers_for(p, elements, p.space->inputs[operand].element);
}

// Of a cooperative copy, by one thread.
std::int64_t pieces_of(const StageProgram& p, std::size_t operand) {
  return base::ceil_div(tile::data_tile_elements(p.space->inputs[operand], p.block),
                        p.threads() * p.operands[operand].vector);
}

// The pieces of a copy stand in registers between their load and their store, unless they go past them.
std::int64_t in_flight_of(const StageProgram& p, std::size_t operand, const Machine& m) {
  if (copies_past_registers(p, operand, m)) return 0;
  const std::int64_t bytes = p.operands[operand].vector * p.space->inputs[operand].element.n;
  return base::ceil_div(pieces_of(p, operand) * bytes, kRegisterBytes);
}

// Whether one address serves all of a thread's pieces of a cooperative copy, a constant distance apart; else each has
// its own, kept through all steps. Pieces in turn lie so in the same column of each row, a chunk within a row or where
// it is whole rows.
bool pieces_lie_evenly(const StageProgram& p, std::size_t operand) {
  const tile::TileShape shape = tile::data_tile(p.space->inputs[operand], p.block);
  const tile::OperandPlan& plan = p.operands[operand];
  if (shape.empty()) return true;
  if (!plan.chunked) return p.threads() * plan.vector % shape.back() == 0;
  const std::int64_t chunk = pieces_of(p, operand) * plan.vector;
  return shape.back() % chunk == 0 || chunk % shape.back() == 0;
}

// The next step's pieces are under way while this one's fragments are in use.
std::int64_t moving(const StageProgram& p, std::int64_t fragments, std::int64_t copies) {
  return p.slots() > 1 ? fragments + copies : std::max(fragments, copies);
}

// --- kernels of lower/, by their compiler's allowances

// Points of the reduction that a thread reads of an operand at once: as many as one access brings where staged rows run
// along the innermost reduced axis.
std::int64_t points_at_once(const StageProgram& p, std::size_t operand, const Machine& m) {
  const tile::Operand& o = p.space->inputs[operand];
  if (!p.operands[operand].staged || p.matrix() || o.dims.empty() || p.order.empty()) return 1;
  const tile::TileDim& last = o.dims.back();
  const bool along = !last.whole && last.terms.size() == 1 && last.terms[0].axis == p.order.back();
  return along ? scratchpad_vector(p, operand, arch::widest_access_of(*m.arch)) : 1;
}

bool reads_windows(const StageProgram& p) {
  return !p.matrix() &&
         std::any_of(p.thread.begin() + p.space->spatial, p.thread.end(), [](std::int64_t n) { return n > 1; });
}

std::int64_t of_copy(const StageProgram& p, std::size_t operand, const Machine& m) {
  const std::int64_t pieces = pieces_of(p, operand);
  if (!copies_past_registers(p, operand, m))  // a piece of less than a register has one of its own
    return std::max(in_flight_of(p, operand, m), pieces);
  const arch::RegisterAllowances& a = m.allowances;
  if (pieces_lie_evenly(p, operand))
    return a.even_piece.value_or(0) * std::min(pieces, a.max_even_pieces.value_or(pieces));
  return pieces * (p.space->inputs[operand].gathered ? a.im2col_piece : a.uneven_piece).value_or(0);
}

std::int64_t needed_by_own(const StageProgram& p, const Machine& m) {
  const arch::RegisterAllowances& a = m.allowances;
  std::int64_t fragments = 0, copies = 0, bookkeeping = a.base.value_or(0);
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.in_core_matrices()) fragments += fragment_registers(p, i, points_at_once(p, i, m));
    if (!p.operands[i].staged) {
      if (p.space->inputs[i].gathered) bookkeeping += a.im2col_read.value_or(0) * fragment_of(p, i);
      continue;
    }
    if (p.operands[i].box != 0) continue;  // another warp asks for it
    copies += of_copy(p, i, m);
    if (p.steps() > 1) bookkeeping += a.staged_operand.value_or(0);
  }
  // The taps of a window are read as they are used: about half of them are held at a time.
  if (reads_windows(p)) fragments = base::ceil_div(fragments, 2);
  const std::int64_t beside = moving(p, fragments, copies) + bookkeeping;
  return accumulators_of(p) + (p.in_core_matrices() ? std::max(beside, a.mma_operands.value_or(0)) : beside);
}

// --- kernels of others

constexpr std::int64_t kRegistersOfAddress = 2;  // 64 bits

// Registers that hold addresses, loop counters and predicates. An allowance, not a fit: two for each operand's pointer,
// two for each loop, and as many again in flight.
std::int64_t bookkeeping_of_others(const StageProgram& p) {
  return static_cast<std::int64_t>(4 * p.space->operand_count() + 2 * p.space->axes.size());
}

std::int64_t needed_by_others(const StageProgram& p, const Machine& m) {
  std::int64_t fragments = 0, copies = 0, addresses = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    fragments += fragment_registers(p, i, 1);
    if (!p.operands[i].staged || p.operands[i].box != 0) continue;
    copies += in_flight_of(p, i, m);
    if (!pieces_lie_evenly(p, i)) addresses += kRegistersOfAddress * pieces_of(p, i);
  }
  return accumulators_of(p) + moving(p, fragments, copies) + addresses + bookkeeping_of_others(p);
}

}  // namespace

std::int64_t registers_needed(const StageProgram& p, const Machine& m) {
  return p.registers > 0 ? needed_by_own(p, m) : needed_by_others(p, m);
}

StageProgram held_to_registers(StageProgram p, const Machine& m) {
  p.registers = m.registers_per_thread;
  const Occupancy o = occupancy_of(p, m);
  const std::int64_t more =
      std::min({m.registers_per_thread, registers_left(m, p.threads_with_copiers(m.warp), o.blocks_per_core),
                o.registers_per_thread + o.registers_per_thread / 10});
  p.registers = std::max(o.registers_per_thread, more / m.register_granule * m.register_granule);
  return p;
}

}  // namespace tilescope::model
