// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of a stage's program in one block, independent of rates: instructions, bank passes, sectors by operand,
// registers, footprints. It depends only on the program and a chip's geometry, so one count serves all chips of that
// geometry; estimate.h gives its time at a chip's rates.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>

#include "base/fixed_vector.h"
#include "model/simt/cached_costs.h"
#include "model/simt/kernel_stage.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// One access instruction of one warp to memory.
struct MemoryAccess {
  double lanes = 0;
  std::int64_t lines = 0;  // of the core's cache
  // What that cache delivers: `banks` where it shares the scratchpad's memory, else `sectors`.
  std::int64_t sectors = 0;
  BankUse banks;
};

// Traffic of an operand between core and device, and its distinct bytes. Traffic is bytes in whole sectors of the first
// device cache; distinct bytes are in granules of DRAM.
struct Flow {
  bool moves = false;  // false: it stays in the core
  bool through_core_cache = false;
  std::int64_t granule = 0;         // of DRAM
  std::int64_t start_multiple = 0;  // greatest power of two that divides all starts of runs, bytes; 0: all start at 0
  double inside = 1;                // share of the blocks' tiles inside the stage's ranges
  double step_bytes = 0;            // of one step of one block alone; of the output, of all its stores
  double useful_bytes = 0, touched_bytes = 0;  // of the tile in that step; those that its iterations touch
  double requested_bytes = 0;                  // of all single accesses, of an operand that no copy brings
  double request_bytes = 0;                    // mean of one request for a line
  double whole_bytes = 0, all_touched_bytes = 0, all_bytes = 0;  // tensor; touched by the stage; in DRAM granules
  // One entry for each number of innermost reduction loops, from one on: a copied operand's bytes per step if the steps
  // of these loops find each other's sectors in the core's cache, and the bytes of the lines that two neighbouring
  // steps of the outermost of them touch of all inputs.
  struct Loops {
    double lines_bytes = 0, step_bytes = 0;
  };
  base::FixedVector<Loops, tile::kMaxAxes> loops;
};

// What a block does with one input in a step.
struct InputCounts {
  enum class Comes : std::uint8_t { kHeld, kKept, kCopied, kDirect };
  Comes comes = Comes::kHeld;                       // in registers, in the scratchpad, copied there, read from memory
  CachedCost scratchpad;                            // of a copied input; of a kept one only the reads
  double requests = 0, instructions_a_request = 1;  // copies of one warp, and the instructions of each
  bool asynchronous = false;
  double lines = 0;   // that the TMA engine requests for the block
  double reads = 0;   // of one warp, from memory or of a kept tile
  double beside = 0;  // instructions for addresses and guards, of one warp
  MemoryAccess access;
  double warps_that_share = 1;  // warps that read the same parts from memory, and wait for them together
  double rounds = 0;            // waits for copies, a fraction; the sum over the inputs is rounded up
};

// Stores of the block's results.
struct ResultCounts {
  std::optional<CachedAccess> kept;  // writes to the scratchpad, where the results stay
  double kept_per_warp = 0;
  bool stores = false;  // threads store to memory
  double stores_per_warp = 0;
  double beside = 0;  // integer instructions of one warp, for addresses and guards
  double lines = 0;   // that the TMA engine stores for the block
  MemoryAccess access;
  base::FixedVector<CachedAccess, 2> gathered;  // writes to the scratchpad and reads from it
  base::FixedVector<double, 2> issued;          // instructions of a warp for each entry of `gathered`
  // Stores of parts of sectors: the share of one store's granules that it covers only in part, and the bytes that DRAM
  // would read for the whole stage if that share were 1.
  double stored_in_parts = 0, all_in_parts_bytes = 0;
};

// 32-bit registers of a thread.
struct Registers {
  std::int64_t needed = 0;       // so that nothing spills
  std::int64_t of_products = 0;  // the part that sums take with what is multiplied at a time
  std::int64_t of_sums = 0;
  std::int64_t least = 0;  // that compilers take: those of the sums, and what one matrix instruction reads beside them
};

struct Counts {
  const tile::StageProgram* program = nullptr;  // outlives the counts
  tile::Extents all;                            // extents of the stage's axes
  base::FixedVector<tile::BlockDigit, tile::kMaxAxes + 2> digits;

  // Properties of the kernel that computes the stage.
  std::int64_t blocks = 1, steps = 1, repeats = 1;
  std::int64_t stages_held = 1;  // steps whose copies a block holds at a time
  base::Bytes scratchpad;
  std::int64_t carried_registers = 0;
  bool first = true, stays = false, in_ring = false;
  std::optional<std::size_t> stepped;
  StepShares shares;  // of the repeats, or where it has one of the steps, that blocks take

  std::int64_t threads = 1, warps = 1;    // that compute
  std::int64_t launched_threads = 1;      // including a producer warp
  double points = 1, results = 1;         // iterations of a step for each result; results of a thread
  double per_instruction = 1, depth = 1;  // iterations of one instruction; those of them along the reduction
  double operations = 1;                  // of the stage's arithmetic, of an iteration
  double promotions = 0;                  // multiplications and additions of a thread in a step, of sums with scales
  double first_product = 0;  // iterations of the smallest matrix instruction whose results are waited for once a step
  double tensor_bytes = 0, tensor_reads = 0;   // that the block reads of tensor memory at its end; of one thread
  std::int64_t tensor_columns = 0;             // that it takes of tensor memory
  double register_tiles = 1, tiles_ahead = 1;  // of a step; those whose loads are in flight together
  double loop_instructions = 0;
  double parts = 1;  // of a split reduction
  bool copies = false, reads_kept = false;
  bool streams = false;  // a producer warp fills a ring of stages by TMA, consumers wait for their products once a step
  std::span<const InputCounts> inputs;
  ResultCounts output;
  std::span<const Flow> flows;    // inputs in order, then the output
  double direct_lines_bytes = 0;  // lines of the core's cache that a step's direct reads occupy

  // Reductions that threads share. A result takes `shuffles` shuffles in `shuffle_rounds` reduction steps of lanes;
  // each shuffle takes `shuffle_passes` cycles of the scratchpad's crossbar. `lane_groups` groups of lanes then combine
  // in the scratchpad. A result has `shared_words` 32-bit words.
  double shuffles = 0, shuffle_rounds = 0, shuffle_passes = 0, shared_words = 0;
  std::int64_t lane_groups = 1;
  // Online reductions (tile/group_loop.h): number of factors that sums are multiplied by in a step; 0: none.
  double factors = 0;
  bool leaves_factors = false;
  bool factors_by_rows = false;  // in registers; else they pass through the scratchpad

  Registers registers;

  std::int64_t all_steps() const { return steps * repeats; }
  // Those that a block takes in the mean: steps of a repeat, repeats, steps of all repeats.
  double mean_steps() const { return std::max(1.0, static_cast<double>(steps) * (repeats > 1 ? 1 : shares.mean)); }
  double mean_repeats() const { return static_cast<double>(repeats) * (repeats > 1 ? shares.mean : 1); }
  double mean_all_steps() const { return mean_steps() * mean_repeats(); }
};

// Storage of the counts of operands. It outlives the Counts, unless keep_in moves them elsewhere.
struct CountsStorage {
  base::FixedVector<InputCounts, tile::kMaxOperands> inputs;
  base::FixedVector<Flow, tile::kMaxOperands> flows;
};

// Counts the work of one block. `known`, which may be null, caches the scratchpad costs of cached operands.
Counts count(const tile::StageProgram& p, const KernelStage& kernel, const Geometry& g, CountsStorage& storage,
             CachedCosts* known = nullptr);

// Copies the counts of operands from their storage to `memory`, and makes `c` refer to the copies.
void keep_in(Counts& c, std::pmr::memory_resource& memory);

}  // namespace tilescope::model
