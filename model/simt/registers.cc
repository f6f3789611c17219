// SPDX-License-Identifier: Apache-2.0
#include "model/simt/registers.h"

#include <algorithm>

#include "model/simt/detail/occupancy.h"
#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/transfer/detail/costs.h"
#include "tile/microkernel/rules.h"
#include "tile/staging.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

// Sums and what else a thread holds, of which only the larger part counts where sums have registers of their own.
std::int64_t with_sums(const StageProgram& p, const Geometry& m, std::int64_t sums, std::int64_t others) {
  return m.separate_sums && !tile::adds_by_threads(p) ? std::max(sums, others) : sums + others;
}

// Without a reduction results take the registers of what they are computed from.
bool computes_in_place(const StageProgram& p) { return p.space->stage().reducer == expr::Reducer::kNone; }

// The next step's pieces are under way while this one's fragments are in use.
std::int64_t moving(const StageProgram& p, std::int64_t fragments, std::int64_t copies) {
  return p.stages_held() > 1 ? fragments + copies : std::max(fragments, copies);
}

// --- kernels of lower/, by their compiler's allowances

std::int64_t estimated_registers_of_own(const StageProgram& p, const Geometry& m, const OperandRegisters& operands,
                                        std::int64_t sums) {
  const arch::RegisterAllowances& a = m.allowances;
  std::int64_t copies = 0, bookkeeping = a.base.value_or(0);
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.operands[i].cached) {
      if (p.space->inputs[i].im2col) bookkeeping += a.im2col_read.value_or(0) * fragment_of(p, i);
      continue;
    }
    const CopyRegisters c =
        std::visit([&](const auto& entry) { return own_registers(entry, p, i, m); }, transfer_of(p, i, m));
    copies += c.pieces;
    bookkeeping += c.bookkeeping;
  }
  const std::int64_t held = moving(p, operands.held, copies);
  if (computes_in_place(p)) return std::max(sums, held) + bookkeeping;
  return with_sums(p, m, sums, std::max(held + bookkeeping, operands.least));
}

// --- kernels of others, as compilers make them (docs/model.md, "Registers")

// What a thread holds of its operands: of the largest fragment a few elements at a time, the others whole, and as much
// again where the compiler has more than one iteration in a body and reads one ahead.
std::int64_t held_by_others(const StageProgram& p) {
  constexpr std::int64_t kStreamed = 4;  // elements: one access of the widest kind
  std::int64_t all = 0, largest = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    const std::int64_t fragment =
        of_micro_kernel(p, [&](const auto& kernel) { return fragment_registers(kernel, p, i); });
    all += fragment;
    largest = std::max(largest, fragment);
  }
  if (p.matrix() != nullptr) return all;
  const std::int64_t held = all - largest + std::min(largest, kStreamed);
  return unrolled_reduction(p).iterations > 1 ? 2 * held : held;
}

// Addresses and counters: a pointer of 64 bits and two places in the scratchpad for each cached operand, a pointer for
// one that is read directly, a counter of steps, and what the block's own place and the calling convention take.
std::int64_t bookkeeping_of_others(const StageProgram& p) {
  constexpr std::int64_t kPointer = 2, kPlaces = 2, kCounter = 1, kOwn = 4;
  std::int64_t n = kOwn + kCounter;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) n += kPointer + (p.operands[i].cached ? kPlaces : 0);
  return n;
}

std::int64_t estimated_registers_of_others(const StageProgram& p, const Geometry& m, std::int64_t sums) {
  std::int64_t copies = 0, addresses = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.operands[i].cached) continue;
    const CopyRegisters c =
        std::visit([&](const auto& entry) { return others_registers(entry, p, i, m); }, transfer_of(p, i, m));
    copies += c.pieces;
    addresses += c.bookkeeping;
  }
  return with_sums(p, m, sums, moving(p, held_by_others(p), copies) + addresses + bookkeeping_of_others(p));
}

}  // namespace

std::int64_t registers_of_sums(const StageProgram& p) {
  const tile::TileSpace& space = *p.space;
  return registers_for(p, tile::data_tile_elements(space.output, p.thread), base::size_of(space.expression.accumulate));
}

Registers registers_of(const StageProgram& p, const Geometry& m) {
  const OperandRegisters operands =
      of_micro_kernel(p, [&](const auto& kernel) { return operand_registers(kernel, p, m); });
  const std::int64_t sums = registers_of_sums(p);
  return {
      p.registers > 0 ? estimated_registers_of_own(p, m, operands, sums) : estimated_registers_of_others(p, m, sums),
      with_sums(p, m, sums, std::max(operands.held, operands.least)), sums, with_sums(p, m, sums, operands.least)};
}

bool is_worth_compiling(const StageProgram& p, const Registers& needs, std::int64_t held) {
  if (computes_in_place(p)) return needs.needed <= held;
  return needs.least <= held;
}

std::int64_t registers_needed(const StageProgram& p, const Geometry& m) { return registers_of(p, m).needed; }

std::int64_t held_registers(const Counts& c, const Machine& m) { return held_registers(needs_of(c), m); }

StageProgram with_max_registers(StageProgram p, const Machine& m, std::int64_t block_threads) {
  p.registers = m.registers_per_thread;
  p.registers = held_registers({std::max(p.threads_with_producers(m.warp), block_threads),
                                tile::staging_of(p, m.engines).bytes, registers_needed(p, m), 0, 0},
                               m);
  return p;
}

}  // namespace tilescope::model
