// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the transfer of a cached operand asks of a core. Each question has an answer for every entry of tile/transfer/.

#include <cstdint>

#include "model/simt/machine.h"
#include "model/simt/warp_access.h"
#include "tile/transfer/transfer.h"

namespace tilescope::model {

// The entry of a cached operand on the machine.
inline tile::Transfer transfer_of(const tile::StageProgram& p, std::size_t operand, const Geometry& m) {
  return tile::transfer_of(p, operand, m.engines);
}

// Copies in one reduction step.
struct CopyWork {
  double requests = 0;       // of one computing warp, each with an address of its own
  double instructions = 1;   // of one request: a load, and a store where it passes through registers
  bool asynchronous = true;  // what arrives is written where it belongs, and passes the port once
  double lines = 0;          // of the whole block, that the TMA engine requests
};
CopyWork copy_work(const tile::PerThread&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp);
CopyWork copy_work(const tile::CpAsync&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp);
CopyWork copy_work(const tile::Tma&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// Whether copies fill whole sectors of the core's cache, as loads do.
constexpr bool loads_through_core_cache(const tile::PerThread&) { return true; }
constexpr bool loads_through_core_cache(const tile::CpAsync&) { return false; }
constexpr bool loads_through_core_cache(const tile::Tma&) { return false; }

// The first warp's write of its first pieces to the scratchpad, or of as many bytes of an asynchronous copy.
AccessPattern cached_write(const tile::PerThread&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp);
AccessPattern cached_write(const tile::CpAsync&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp);
AccessPattern cached_write(const tile::Tma&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// What a thread holds of its pieces and of what it needs to know of them: registers, in kernels of lower/ by their
// compiler's allowances, and in kernels of others.
struct CopyRegisters {
  std::int64_t pieces = 0;
  std::int64_t bookkeeping = 0;  // through all steps
};
CopyRegisters own_registers(const tile::PerThread&, const tile::StageProgram& p, std::size_t operand,
                            const Geometry& m);
CopyRegisters own_registers(const tile::CpAsync&, const tile::StageProgram& p, std::size_t operand, const Geometry& m);
CopyRegisters own_registers(const tile::Tma&, const tile::StageProgram& p, std::size_t operand, const Geometry& m);
CopyRegisters others_registers(const tile::PerThread&, const tile::StageProgram& p, std::size_t operand,
                               const Geometry& m);
CopyRegisters others_registers(const tile::CpAsync&, const tile::StageProgram& p, std::size_t operand,
                               const Geometry& m);
CopyRegisters others_registers(const tile::Tma&, const tile::StageProgram& p, std::size_t operand, const Geometry& m);

// How often a thread of a kernel that others wrote waits for its loads of one step, as a part of one wait where several
// operands' are issued together.
double copy_rounds(const tile::PerThread&, const tile::StageProgram& p, std::size_t operand, const Geometry& m);
constexpr double copy_rounds(const tile::CpAsync&, const tile::StageProgram&, std::size_t, const Geometry&) {
  return 0;
}
constexpr double copy_rounds(const tile::Tma&, const tile::StageProgram&, std::size_t, const Geometry&) { return 0; }

// --- shared by entries

// Pieces of a cooperative copy that one thread takes.
std::int64_t pieces_of(const tile::StageProgram& p, std::size_t operand);
// Registers for the indices by which an operand that is gathered is copied, one for each piece.
std::int64_t indices_of(const tile::StageProgram& p, std::size_t operand);
// Whether one address serves all of a thread's pieces, a constant distance apart; else each has its own, kept through
// all steps. Striped pieces do where as many as a block takes at a time are whole rows, blocked ones within a row or
// where they are whole rows. Kernels of others are written so that parts of rows do too (TVM simplifies indices by the
// number of threads, CLBlast copies in two loops); compilers of ours do not see it.
bool pieces_lie_evenly(const tile::StageProgram& p, std::size_t operand);
// Where from and where to each piece goes that does not lie evenly, kept through all steps.
std::int64_t address_registers(const tile::StageProgram& p, std::size_t operand);
// Pieces of a copy that a thread of such a kernel has under way at a time. Compilers unroll copies and issue all loads
// before the first store; where a piece may lie beyond the tile its load and its store hang on one predicate, and a
// thread keeps no more of them than the chip's compiler has (docs/accuracy.md, "Kernels of others").
std::int64_t pieces_together(const tile::StageProgram& p, std::size_t operand, const Geometry& m);
// Of a kernel of lower/: what a cached operand takes through all steps.
std::int64_t bookkeeping_of(const tile::StageProgram& p, std::size_t operand, const Geometry& m);

}  // namespace tilescope::model
