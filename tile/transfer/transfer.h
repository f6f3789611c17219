#pragma once
// How the tiles that an operand has in each step reach the scratchpad. One alternative an entry; each layer that treats
// them differently has a folder of this name with a file for each, and dispatches there. A program does not name its
// transfer: it follows from its pipeline, its vectors and boxes, and the chip.

#include <cstdint>
#include <variant>

#include "base/units.h"
#include "tile/program.h"

namespace tilescope::tile {

// By all threads through their registers.
struct PerThread {};
// By all threads past their registers (PTX's cp.async), for steps that lie ahead.
struct CpAsync {};
// Asked for by one thread of a further warp, a box of the tensor at a time (tma.h).
struct Tma {};

using Transfer = std::variant<PerThread, CpAsync, Tma>;

// Of a staged operand. `async_bytes` is the least that one thread copies past its registers on the chip; 0 where it
// cannot.
inline Transfer transfer_of(const StageProgram& p, std::size_t operand, base::Bytes async_bytes) {
  const OperandPlan& plan = p.operands[operand];
  if (plan.box != 0) return Tma{};
  const base::Bytes piece = p.space->operand(operand).element * plan.vector;
  if (async_bytes.n > 0 && p.slots() > 1 && piece.n >= async_bytes.n) return CpAsync{};
  return PerThread{};
}

}  // namespace tilescope::tile
