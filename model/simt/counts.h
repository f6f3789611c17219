// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a stage's program does in one block, whatever that takes: instructions, bank passes, sectors by operand,
// registers, footprints. It depends on the program and on a chip's geometry alone, so that one count serves all chips
// that agree in it; estimate.h says what it takes at a chip's rates.

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
  // What that cache gives: passes through the scratchpad's banks where they share memory, else sectors.
  std::int64_t sectors = 0;
  BankUse banks;
};

// What an operand moves between core and device, and what of it is distinct. Bytes, in whole sectors of the first
// device cache; what is distinct in granules of DRAM.
struct Flow {
  bool moves = false;  // else it stays in the core
  bool through_core_cache = false;
  std::int64_t granule = 0;         // of DRAM
  std::int64_t start_multiple = 0;  // the greatest power of two that divides every start of a run; 0: all start at 0
  double inside = 1;                // share of the blocks' tiles inside the stage's ranges
  double step_bytes = 0;            // one block's step by itself; of the output all its stores
  double useful_bytes = 0, touched_bytes = 0;                    // of that what the tile has, what its iterations touch
  double requested_bytes = 0;                                    // by accesses one by one, of what no copy brings
  double request_bytes = 0;                                      // of one request for a line
  double whole_bytes = 0, all_touched_bytes = 0, all_bytes = 0;  // of the tensor; of the stage
  // A copied operand's bytes a step where so many of the innermost reduction loops find each other's sectors, and the
  // lines that two neighbouring steps of the outermost of them touch of all inputs.
  struct Loops {
    double lines_bytes = 0, step_bytes = 0;
  };
  base::FixedVector<Loops, tile::kMaxAxes> loops;
};

// What a block does with one input in a step.
struct InputCounts {
  enum class Comes : std::uint8_t { kHeld, kKept, kCopied, kDirect };
  Comes comes = Comes::kHeld;                       // in registers, in the scratchpad, copied there, read from memory
  CachedCost scratchpad;                            // of what is copied; of what is kept the reads
  double requests = 0, instructions_a_request = 1;  // copies of one warp
  bool asynchronous = false;
  double reads = 0;   // of one warp, from memory, or of what is kept
  double beside = 0;  // instructions for addresses and guards, of one warp
  MemoryAccess access;
  double warps_that_share = 1;  // ask for the same parts of what is read from memory, and wait together
  double rounds = 0;            // waits for copies, as a part of one where several operands' are issued together
};

// Results of the block on their way out.
struct ResultCounts {
  std::optional<CachedAccess> kept;  // into the scratchpad, where they stay
  double kept_per_warp = 0;
  bool stores = false;  // to memory, by threads
  double stores_per_warp = 0, beside = 0;
  MemoryAccess access;
  base::FixedVector<CachedAccess, 2> gathered;  // into the scratchpad and out of it
  base::FixedVector<double, 2> issued;          // by a warp, for each of these
  // Of stores of parts of sectors: share of the granules of one that it does not cover, bytes of the whole stage.
  double stored_in_parts = 0, all_in_parts_bytes = 0;
};

struct Counts {
  const tile::StageProgram* program = nullptr;  // outlives the counts
  tile::Extents all;                            // extents of the stage's axes
  base::FixedVector<tile::BlockDigit, tile::kMaxAxes + 1> digits;

  // Of the kernel that has the stage.
  std::int64_t blocks = 1, steps = 1, repeats = 1;
  std::int64_t stages_held = 1;  // steps whose copies a block holds at a time
  base::Bytes scratchpad;
  std::int64_t carried_registers = 0;
  bool first = true, stays = false;
  std::optional<std::size_t> stepped;

  std::int64_t threads = 1, warps = 1;         // that compute; of them
  std::int64_t launched_threads = 1;           // with a producer warp
  double points = 1, results = 1;              // iterations of a step; results of a thread
  double per_instruction = 1, depth = 1;       // iterations of one, and how many of them it adds up
  double register_tiles = 1, tiles_ahead = 1;  // of a step; whose loads are under way together
  double loop_instructions = 0;
  double parts = 1;  // of a split reduction
  bool copies = false, reads_kept = false;
  std::span<const InputCounts> inputs;
  ResultCounts output;
  std::span<const Flow> flows;    // inputs in order, then the output
  double direct_lines_bytes = 0;  // lines of the core's cache that a step's direct reads take up

  // Reductions that threads share: shuffles and steps of lanes, words and groups of lanes that meet in the scratchpad.
  double shuffles = 0, shuffle_rounds = 0, shuffle_passes = 0, shared_words = 0;
  std::int64_t lane_groups = 1;
  // Reductions that are carried on (tile/group_loop.h): factors that sums are multiplied by in a step; 0: none are.
  double factors = 0;
  bool leaves_factors = false;

  // 32-bit, of a thread; of those, what it multiplies at a time with its sums, and these. Whether the program states
  // how many it may have: then its kernel is one of lower/, else one that others wrote.
  std::int64_t registers_needed = 0, registers_of_products = 0, registers_of_sums = 0;
  bool states_registers = false;

  std::int64_t all_steps() const { return steps * repeats; }
};

// Where counts of operands lie; it outlives the counts, or these are kept elsewhere.
struct CountsStorage {
  base::FixedVector<InputCounts, tile::kMaxOperands> inputs;
  base::FixedVector<Flow, tile::kMaxOperands> flows;
};

// `known` may remember what cached operands cost the scratchpad.
Counts count(const tile::StageProgram& p, const KernelStage& kernel, const Geometry& g, CountsStorage& storage,
             CachedCosts* known = nullptr);

// Moves what the counts' storage holds to memory of the caller's.
void keep_in(Counts& c, std::pmr::memory_resource& memory);

}  // namespace tilescope::model
