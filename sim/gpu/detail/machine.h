// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the simulator of the GPU class knows of a chip: the causes of ArchSpec in core cycles. `calibration` and
// `baselines` are not read.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/pipes.h"
#include "arch/spec.h"
#include "sim/common/report.h"
#include "sim/gpu/detail/chip_part.h"
#include "sim/memory/detail/memory_spec.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::sim {

// The core's own cache, in lines of the device's cache.
struct CoreCacheSpec {
  std::int64_t bytes = 0;
  bool shares_scratchpad = false;  // what blocks use of the scratchpad is lacking here
  std::int64_t ways = CacheSpec::kAnyWay;
  std::int64_t sectors = 1;  // of the device's cache in one of its own
  std::int64_t tags = 1;     // lines looked up a cycle, one of each tag memory
  Rate rate;                 // bytes
  Cycle latency{};
};

struct CoreLimits {
  std::int64_t warp = 32, partitions = 1;
  std::int64_t max_threads = 0, max_blocks = 0, max_block_threads = 0;
  std::int64_t registers = 0, registers_per_thread = 0, register_granule = 1;
  bool separate_sums = false;      // sums of matrix instructions are in others, as many
  std::int64_t assumed_block = 0;  // threads that the compiler leaves registers for where none are stated
  double stated_registers = 0;     // share of those that a kernel states that the compiler takes at least
  // Registers of a thread beside the sums of a warp group's product; with fewer, sums are in memory between products.
  std::int64_t warp_group_operands = 0;
  std::int64_t scratchpad_bytes = 0, scratchpad_per_block = 0, scratchpad_reserved = 0;
  std::int64_t tensor_columns = 0, tensor_granule = 1;  // of tensor memory, of which a block takes a power of two
};

struct Machine {
  std::string name;
  std::int64_t cores = 1;
  CoreLimits limits;
  Rate issue;                         // warp instructions of one partition
  std::vector<arch::PipeSpec> pipes;  // of a core
  std::size_t instructions = 0;       // entries of `compute`
  Rate memory_lanes;                  // of one core, whose accesses to memory it takes
  Rate scratchpad_lanes;              // and to the scratchpad,
  // Between two asynchronous copies of warps on a core; `fenced`: in kernels of products that read them from the
  // scratchpad.
  Cycle async_copy_interval{}, fenced_copy_interval{};
  bool lanes_shared = false;  // which are the same lanes
  Rate scratchpad;            // bank passes
  Banks banks;
  Cycle scratchpad_latency{};
  Rate tensor_reads;  // bytes that the warps of one partition read of tensor memory
  Cycle tensor_latency{};
  std::int64_t misses = 0;              // lines that a core has under way at a time, written ones among them; 0: any
  Cycle line_interval{};                // between lines that a core's TMA engine requests
  Cycle cluster_latency{};              // from a warp's arrival to an mbarrier of another block of its cluster
  Cycle block_launch{}, warp_launch{};  // until a block's first instruction, between its warps' first ones
  std::optional<CoreCacheSpec> cache;
  MemorySpec memory;
  std::optional<BehindCores> behind_cores;  // a user's, in place of the link, the device's caches and the DRAM
  std::string dram_name, core_cache_name, scratchpad_name;  // empty where the chip has none
  std::vector<std::string> device_cache_names;              // from the one that cores reach first on
  std::array<std::string, kStalls> stall_names;             // those of levels as the chip calls them; likewise empty
  base::Hertz clock;
  Cycle launch{};
  double block_interval = 0;     // cycles from one block's start to the next one's, on any core; 0: all at once
  std::optional<ChipPart> part;  // where it is a part of a chip
};

// What a warp's accesses are cut into. A chip without a scratchpad copies nothing there; one bank keeps the arithmetic
// defined.
AccessShapes access_shapes(const Machine& m);

// Of a chip of class gpu. Throws SimError where it lacks what a simulation needs.
Machine machine_of(const arch::ArchSpec& chip);

}  // namespace tilescope::sim
