#include "model/occupancy.h"

#include <algorithm>
#include <limits>

#include "base/integer.h"
#include "model/staged_use.h"
#include "tile/staging.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

constexpr std::int64_t kRegistersOfAddress = 2;  // 64 bits

// Registers that hold addresses, loop counters and predicates. An allowance, not a fit: two for each operand's pointer,
// two for each loop, and as many again in flight.
std::int64_t bookkeeping_registers(const StageProgram& p) {
  return static_cast<std::int64_t>(4 * p.space->operand_count() + 2 * p.space->axes.size());
}

std::int64_t registers_for(std::int64_t elements, std::int64_t element_bytes) {
  return base::ceil_div(elements * element_bytes, 4);
}

// Whether one address serves all of a thread's pieces of a cooperative copy, a constant distance apart; else each has
// its own, kept through all steps. Pieces in turn lie so in the same column of each row, a chunk within a row or where
// it is whole rows.
bool pieces_lie_evenly(const StageProgram& p, std::size_t operand, std::int64_t pieces) {
  const tile::TileShape shape = tile::data_tile(p.space->inputs[operand], p.block);
  const tile::OperandPlan& plan = p.operands[operand];
  if (shape.empty()) return true;
  if (!plan.chunked) return p.threads() * plan.vector % shape.back() == 0;
  const std::int64_t chunk = pieces * plan.vector;
  return shape.back() % chunk == 0 || chunk % shape.back() == 0;
}

std::int64_t registers_needed(const StageProgram& p, const Machine& m) {
  const tile::TileSpace& space = *p.space;
  const std::int64_t accumulator_bytes = base::size_of(space.expression.accumulate).n;
  const std::int64_t threads = p.threads();
  // What a warp holds for a matrix instruction is shared among its lanes.
  const auto of_lane = [&](std::int64_t elements) { return base::ceil_div(elements, p.lanes()); };
  const std::int64_t accumulators =
      registers_for(of_lane(tile::data_tile_elements(space.output, p.thread)), accumulator_bytes);
  std::int64_t fragments = 0, copies = 0, addresses = 0;
  for (std::size_t i = 0; i < space.inputs.size(); ++i) {
    const tile::Operand& o = space.inputs[i];
    fragments += registers_for(of_lane(static_cast<std::int64_t>(tile::fragment_elements(p, i))), o.element.n);
    if (!p.operands[i].staged) continue;
    const std::int64_t pieces = base::ceil_div(tile::data_tile_elements(o, p.block), threads * p.operands[i].vector);
    // The pieces of a copy stand in registers between their load and their store, unless they go past them.
    if (!copies_past_registers(p, i, m)) copies += registers_for(pieces * p.operands[i].vector, o.element.n);
    if (!pieces_lie_evenly(p, i, pieces)) addresses += kRegistersOfAddress * pieces;
  }
  // The next step's pieces are under way while this one's fragments are in use.
  const std::int64_t moving = p.slots() > 1 ? fragments + copies : std::max(fragments, copies);
  return accumulators + moving + addresses + bookkeeping_registers(p);
}

}  // namespace

Occupancy occupancy_of(const StageProgram& p, const Machine& m) {
  constexpr std::int64_t kAllocationStep = 8;  // compilers and hardware hand registers out in eights
  Occupancy o;
  const std::int64_t threads = base::round_up(p.threads(), m.warp);
  const std::int64_t needed = registers_needed(p, m);
  // A block has to fit the core, so the compiler is held to what one block leaves each thread.
  const std::int64_t most = std::min(m.registers_per_thread, m.registers / threads / kAllocationStep * kAllocationStep);
  o.registers_per_thread = std::min(base::round_up(needed, kAllocationStep), std::max(most, kAllocationStep));
  o.spilled_per_thread = std::max<std::int64_t>(0, needed - o.registers_per_thread);

  struct Bound {
    std::int64_t blocks;
    std::string_view name;
  };
  const std::int64_t staged = tile::staging_of(p, *m.arch).bytes.n;
  const Bound bounds[] = {
      {m.max_blocks, "blocks"},
      {m.max_threads / threads, "threads"},
      {m.registers / (threads * o.registers_per_thread), "registers"},
      {staged == 0 ? std::numeric_limits<std::int64_t>::max() : m.scratchpad_bytes / staged, "scratchpad"},
  };
  const Bound* least = std::min_element(std::begin(bounds), std::end(bounds),
                                        [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  // A program that is known to have run has room for a block, whatever an estimate says.
  o.blocks_per_core = std::max<std::int64_t>(1, least->blocks);
  o.limited_by = least->name;
  o.ratio = std::min(1.0, static_cast<double>(o.blocks_per_core * threads) / static_cast<double>(m.max_threads));
  return o;
}

}  // namespace tilescope::model
