// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an operand's tile of a step reaches the scratchpad: a variant with one alternative for each way. Each layer that
// treats them differently has a folder of this name with a file for each, and dispatches there. A program does not name
// its transfer: it follows from the program's stages, vectors and boxes, and from the chip.

#include <cstdint>
#include <variant>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// By all threads through their registers.
struct PerThread {};
// By all threads asynchronously (PTX's cp.async), for later steps.
struct CpAsync {};
// By TMA: one thread of a producer warp starts the loads, each of a box of the tensor (tma.h).
struct Tma {};

using Transfer = std::variant<PerThread, CpAsync, Tma>;

// The transfer of a cached operand, for cores that have these engines.
inline Transfer transfer_of(const StageProgram& p, std::size_t operand, const arch::CoreSpec& core) {
  const OperandPlan& plan = p.operands[operand];
  if (plan.box != 0) return Tma{};
  const base::Bytes piece = p.space->operand(operand).element * plan.vector;
  if (core.async_copy && p.stages_held() > 1 && piece.n >= core.async_copy->n) return CpAsync{};
  return PerThread{};
}

}  // namespace tilescope::tile
