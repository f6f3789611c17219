// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program's micro-kernel asks of a core: reads of cached operands, registers, instructions, stores of results.
// Each question has an answer for every entry of tile/microkernel/, in the file of its name.

#include <cstdint>
#include <optional>

#include "model/simt/cached_use.h"
#include "model/simt/machine.h"
#include "model/simt/warp_access.h"
#include "tile/microkernel/rules.h"
#include "tile/microkernel/wgmma.h"
#include "tile/program.h"

namespace tilescope::model {

// What the compiler has of a step in one body: the loops over register tiles that `unroll` covers, from the innermost
// one. Iterations of the reduction along each axis, and how many register tiles that is.
struct UnrolledReduction {
  tile::Extents extents;
  double iterations = 1;
};
UnrolledReduction unrolled_reduction(const tile::StageProgram& p);

// How a block's warps read a cached operand in one reduction step.
struct CachedRead {
  AccessPattern access;         // the first of the first warp
  double accesses = 0;          // of one warp, as the program has them
  double left = 1;              // the share of them that is left where a body's equal ones are made once
  double converted = 0;         // elements that each lane of one warp converts before they are multiplied
  bool by_instruction = false;  // the instruction that multiplies reads for itself; else each takes an issue slot
};

StepReads step_reads(const tile::Fma&, const tile::StageProgram& p, std::size_t operand);
inline StepReads step_reads(const auto& /*other*/, const tile::StageProgram& /*p*/, std::size_t /*operand*/) {
  return {};
}

// `max_access` bounds what one thread reads at a time. Ignores: where a warp's tile begins, which shifts all lanes
// alike, and what further elements of a lane do to the banks.
CachedRead cached_read(const tile::Fma&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& reads);
// As tile/microkernel/mma.h says: rows that lanes name, or every lane's own elements.
CachedRead cached_read(const tile::Mma&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& reads);
// A core matrix an access, the first operand's once and the second one's once for all warps that multiply together.
CachedRead cached_read(const tile::Wgmma&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& reads);
// Likewise of an instruction that one thread issues for its block, in equal shares of the block's warps.
CachedRead cached_read(const tile::Tcgen05&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& reads);
// An epilogue caches nothing, nor does a row reduction.
CachedRead cached_read(const tile::Epilogue&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& reads);
CachedRead cached_read(const tile::RowReduction&, const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& reads);
template <class Kernel>
CachedRead cached_read(const Kernel& kernel, const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access) {
  return cached_read(kernel, p, operand, warp, max_access, step_reads(kernel, p, operand));
}

// Where the element of a row and column of a cached tile lies, in elements from the tile's beginning: row by row, or in
// core matrices.
struct RowPlaces {
  std::int64_t operator()(std::int64_t row, std::int64_t column) const {
    return cached_offset(row, column, length, plan);
  }

  std::int64_t length = 1;  // of a row
  const tile::OperandPlan& plan;
};
RowPlaces cached_places(const tile::Fma&, const tile::StageProgram& p, std::size_t operand);
RowPlaces cached_places(const tile::Mma&, const tile::StageProgram& p, std::size_t operand);
RowPlaces cached_places(const tile::Epilogue&, const tile::StageProgram& p, std::size_t operand);
RowPlaces cached_places(const tile::RowReduction&, const tile::StageProgram& p, std::size_t operand);
struct CorePlaces {
  std::int64_t operator()(std::int64_t row, std::int64_t column) const { return core_offset(core, row, column); }

  tile::CoreMatrices core;
};
CorePlaces cached_places(const tile::Wgmma&, const tile::StageProgram& p, std::size_t operand);
CorePlaces cached_places(const tile::Tcgen05&, const tile::StageProgram& p, std::size_t operand);

// Iterations of one thread that one instruction computes, and how many of them it adds up along the reduction.
struct InstructionWork {
  double iterations = 1, depth = 1;
  double first = 0;  // iterations of the fewest columns, of an instruction that warps wait for once a step
};
InstructionWork instruction_work(const tile::Fma&, const tile::StageProgram& p);
InstructionWork instruction_work(const tile::Mma&, const tile::StageProgram& p);
InstructionWork instruction_work(const tile::Wgmma&, const tile::StageProgram& p);
InstructionWork instruction_work(const tile::Tcgen05&, const tile::StageProgram& p);
InstructionWork instruction_work(const tile::Epilogue&, const tile::StageProgram& p);
InstructionWork instruction_work(const tile::RowReduction&, const tile::StageProgram& p);

// What the chip multiplies with; nothing where it has no such instruction.
std::optional<Arithmetic> arithmetic_of(const tile::Fma&, const tile::StageProgram& p, const Machine& m);
std::optional<Arithmetic> arithmetic_of(const tile::Mma&, const tile::StageProgram& p, const Machine& m);
std::optional<Arithmetic> arithmetic_of(const tile::Wgmma&, const tile::StageProgram& p, const Machine& m);
std::optional<Arithmetic> arithmetic_of(const tile::Tcgen05&, const tile::StageProgram& p, const Machine& m);
std::optional<Arithmetic> arithmetic_of(const tile::Epilogue&, const tile::StageProgram& p, const Machine& m);
std::optional<Arithmetic> arithmetic_of(const tile::RowReduction&, const tile::StageProgram& p, const Machine& m);

// Registers of a thread for what it reads of all inputs, in kernels of lower/: what is held at a time, and the least
// that its compiler takes besides the sums whatever is held.
struct OperandRegisters {
  std::int64_t held = 0, least = 0;
};
OperandRegisters operand_registers(const tile::Fma&, const tile::StageProgram& p, const Geometry& m);
OperandRegisters operand_registers(const tile::Mma&, const tile::StageProgram& p, const Geometry& m);
OperandRegisters operand_registers(const tile::Wgmma&, const tile::StageProgram& p, const Geometry& m);
OperandRegisters operand_registers(const tile::Tcgen05&, const tile::StageProgram& p, const Geometry& m);
OperandRegisters operand_registers(const tile::Epilogue&, const tile::StageProgram& p, const Geometry& m);
OperandRegisters operand_registers(const tile::RowReduction&, const tile::StageProgram& p, const Geometry& m);

// Products with scales (tile/microkernel/wgmma.h): of a thread and step, multiplications and multiply-adds with which
// it adds the step's sums, scaled, to its results; the registers of these sums and of the scales. Nothing without
// scales.
struct PromotionWork {
  double instructions = 0;
  std::int64_t registers = 0;
};
PromotionWork promotion_work(const tile::StageProgram& p);
// Reads of a scale of one thread in a step, and those of a warp's lanes for their first results.
double scale_elements(const tile::StageProgram& p, std::size_t operand);
AccessPattern scale_read(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// Bytes of tensor memory that a block's threads read at its end, and in how many reads of one thread; nothing where
// sums are in registers.
struct TensorReads {
  double bytes = 0, reads = 0;
  std::int64_t columns = 0;  // that the block takes
};
TensorReads tensor_reads(const tile::Tcgen05&, const tile::StageProgram& p);
inline TensorReads tensor_reads(const auto& /*other*/, const tile::StageProgram& /*p*/) { return {}; }

// Registers of a thread that hold its share of so many of an input's elements: of one element for every iteration or
// register tile, and with copies of what other lanes hold where an instruction's lanes do.
std::int64_t fragment_registers(const tile::Fma&, const tile::StageProgram& p, std::size_t operand);
std::int64_t fragment_registers(const tile::Mma&, const tile::StageProgram& p, std::size_t operand);
std::int64_t fragment_registers(const tile::Wgmma&, const tile::StageProgram& p, std::size_t operand);
std::int64_t fragment_registers(const tile::Tcgen05&, const tile::StageProgram& p, std::size_t operand);
std::int64_t fragment_registers(const tile::Epilogue&, const tile::StageProgram& p, std::size_t operand);
std::int64_t fragment_registers(const tile::RowReduction&, const tile::StageProgram& p, std::size_t operand);

// A warp's store of its first results to the output's own memory, from its first element. Nothing where a thread's
// results lie as its tile does.
std::optional<AccessPattern> result_store(const tile::Fma&, const tile::StageProgram& p, std::int64_t warp);
std::optional<AccessPattern> result_store(const tile::Mma&, const tile::StageProgram& p, std::int64_t warp);
std::optional<AccessPattern> result_store(const tile::Wgmma&, const tile::StageProgram& p, std::int64_t warp);
std::optional<AccessPattern> result_store(const tile::Tcgen05&, const tile::StageProgram& p, std::int64_t warp);
std::optional<AccessPattern> result_store(const tile::Epilogue&, const tile::StageProgram& p, std::int64_t warp);
std::optional<AccessPattern> result_store(const tile::RowReduction&, const tile::StageProgram& p, std::int64_t warp);

// A warp's write of its first results, so many neighbours, to the tile in which they are gathered.
AccessPattern result_places(const tile::Fma&, const tile::StageProgram& p, std::int64_t vector, std::int64_t warp);
AccessPattern result_places(const tile::Mma&, const tile::StageProgram& p, std::int64_t vector, std::int64_t warp);
AccessPattern result_places(const tile::Wgmma&, const tile::StageProgram& p, std::int64_t vector, std::int64_t warp);
AccessPattern result_places(const tile::Tcgen05&, const tile::StageProgram& p, std::int64_t vector, std::int64_t warp);
AccessPattern result_places(const tile::Epilogue&, const tile::StageProgram& p, std::int64_t vector, std::int64_t warp);
AccessPattern result_places(const tile::RowReduction&, const tile::StageProgram& p, std::int64_t vector,
                            std::int64_t warp);

// A warp's read of an input where its lanes hold results, of so many neighbours that lie `pitch` elements apart along
// the operand's dimensions. Nothing where a thread's results lie as its tile does.
std::optional<AccessPattern> read_at_results(const tile::MicroKernel& kernel, const tile::StageProgram& p,
                                             std::size_t operand, const tile::TileShape& pitch, std::int64_t vector,
                                             std::int64_t warp);

// --- shared by entries

RowPlaces row_places(const tile::StageProgram& p, std::size_t operand);
// Registers that a thread's share of so many elements of the lanes' tile fills.
std::int64_t registers_for(const tile::StageProgram& p, std::int64_t elements, base::Bytes element);
// Elements of an input for one iteration or register tile of the lanes' tile.
std::int64_t fragment_of(const tile::StageProgram& p, std::size_t operand);
// Of the lanes' first results: their store to memory, and their write to the tile in which they are gathered.
AccessPattern store_of_lanes(const tile::MatrixUnit& unit, const tile::StageProgram& p, std::int64_t warp);
AccessPattern write_of_lanes(const tile::MatrixUnit& unit, const tile::StageProgram& p, std::int64_t vector,
                             std::int64_t warp);

using tile::of_micro_kernel;

}  // namespace tilescope::model
