// SPDX-License-Identifier: Apache-2.0
#pragma once
// The figures of a chip that the model works with, derived once from its ArchSpec: rates per cycle and core, latencies
// in core cycles, calibration ratios applied to the rates they name.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/hierarchy.h"
#include "arch/pipes.h"
#include "arch/spec.h"
#include "base/dtype.h"
#include "base/fixed_vector.h"
#include "model/common/estimate.h"
#include "tile/program.h"

namespace tilescope::model {

// Core cycles, by pipe of the core.
using PipeCycles = std::array<double, arch::kMaxPipes>;

// What an instruction holds its pipes: for one lane of it, all partitions busy alike.
struct PipeUse {
  PipeCycles cycles_per_lane{};
  bool any = false;  // nothing but issue slots bounds it where false

  bool operator==(const PipeUse&) const = default;
};

// One cache of device scope.
struct DeviceCache {
  double bytes_per_us = 0, capacity_bytes = 0, latency_cycles = 0;
  std::int64_t sector_bytes = 0;

  bool operator==(const DeviceCache&) const = default;
};

// What the rows of a DRAM's banks cost.
struct DramRows {
  double row_bytes = 0, line_bytes = 0;  // of one channel; that lie in one channel side by side
  double granule_bytes = 0;              // the least that is moved
  double channels = 1, banks = 1;        // of the chip, of a channel
  // Of all channels together: four rows of a channel per faw, one per rrd_s, one of each of its banks per rc, and what
  // the command bus passes, between refreshes. Rows cost nothing where the file says no `row`, or no banks.
  std::optional<double> activates_per_us;
  // Of all channels together: one column command a clock on each bus that pseudo-channels share, where that is less
  // than the data bus passes.
  std::optional<double> bursts_per_us;
  // Of all command buses that pseudo-channels share for rows and columns, and what of that an activate and its
  // precharge take.
  std::optional<double> commands_per_us;
  double commands_of_activate = 0;
  // Share of the time in which a channel's data bus works: not while its only rank is refreshed, and its rows are
  // closed before and opened behind that.
  double between_refreshes = 1;

  bool operator==(const DramRows&) const = default;
};

// What the chip offers for one kind of product: multiply-adds a cycle and core, calibrated, latency, and what one of
// them holds its pipes.
struct Arithmetic {
  double per_cycle = 0;
  double latency_cycles = 0;
  PipeUse use;

  bool operator==(const Arithmetic&) const = default;
};

// What bounds the levels of device scope besides the width of their ports (model/simt/detail/memory_bounds.h). What the
// chip's file does not say bounds nothing.
struct MemoryBounds {
  double line_bytes = 0;                           // of the cache that cores reach first
  std::optional<double> max_requests, max_misses;  // in flight in all its slices
  double way_us = 0, request_bytes = 0;            // that a request is on its way; of the port's time besides its data
  double slice_bytes_per_us = 0;                   // of a slice's port
  std::optional<double> crossing_bytes_per_us;     // that its partitions take from each other, all
  std::optional<double> cluster_bytes_per_us;      // of all ports that cores share, one way
  double clusters = 1;
  std::int64_t cluster_cores = 1;
  double asking_bytes = 0;                    // of such a port, for a request without data: a beat of the core's own
  std::optional<double> translations_per_us;  // fetched
  double page_bytes = 0, reach_bytes = 0;     // of a page, of all translations at hand
  bool translates_writes = false;

  // Whether anything bounds the cache that cores reach first.
  bool of_cache() const { return max_requests || max_misses || crossing_bytes_per_us || cluster_bytes_per_us; }

  bool operator==(const MemoryBounds&) const = default;
};

// What of a chip decides what a program does: which accesses its threads make, what they touch, what a thread holds.
// Of two chips that agree in it a program has the same counts (counts.h), whatever their rates are.
struct Geometry {
  std::int64_t warp = 0;
  arch::CoreSpec engines;  // of the core: what copies and shared reductions depend on, nothing else

  std::int64_t banks = 0, bank_width_bytes = 0;
  std::int64_t broadcast_groups = 1;  // of lanes that one pass serves where neighbours ask for the same words

  bool has_core_cache = false;
  bool core_cache_shared = false;  // with the scratchpad: its capacity, and the port to its banks
  std::int64_t line_bytes = 0;     // of the core's cache

  std::int64_t sector_bytes = 0;        // the least that a core moves from or to the first device cache, or DRAM
  std::int64_t load_sector_bytes = 0;   // the same of loads, which fill whole sectors of the core's cache
  std::int64_t dram_granule_bytes = 0;  // the least that reaches or leaves DRAM: a sector or a burst
  bool has_device_caches = false;
  std::int64_t device_line_bytes = 0;  // of the first of them
  bool bounds_requests = false;        // whether it matters how many requests there are for a line
  // What a store of a part of a sector does that is not there, and what DRAM reads of a burst where it does not get
  // whole granules of so many bytes. Such stores cost nothing where the chip does not say.
  std::optional<arch::PartialWrite> partial_write;
  std::int64_t burst_bytes = 0, write_granule_bytes = 0;

  bool separate_sums = false;              // sums of matrix instructions are in registers of their own
  double compiler_unroll = 1;              // iterations of a loop of its own choice
  arch::RegisterAllowances allowances;     // what its compiler holds besides values
  std::optional<std::int64_t> predicates;  // that it keeps of a thread; any number
  double address_instructions = 1;         // that add an offset to a pointer

  base::Bytes max_access() const { return engines.max_access.value_or(base::Bytes{0}); }

  bool operator==(const Geometry&) const = default;
};

// The rates, latencies and capacities of a core that decide how long a block keeps each of its resources busy, in
// cycles.
struct CoreRates {
  std::int64_t partitions = 1;
  std::int64_t max_threads = 0, max_blocks = 0;
  double issue_per_cycle = 1;  // warp instructions a cycle and partition
  std::size_t pipes = 0;
  std::array<bool, arch::kMaxPipes> accesses{};  // whether a pipe executes accesses, and no arithmetic
  PipeUse integer, memory, scratchpad;           // of arch::kOtherInstructions
  double access_lanes = 0;                       // whose accesses to memory a core takes in a cycle

  std::int64_t registers = 0, registers_per_thread = 0;  // 32-bit; of a core, of a thread
  std::int64_t register_granule = 1;                     // of a thread, in which they are handed out
  std::int64_t assumed_block = 0;  // threads that it leaves registers for where none are stated; 0: the block's

  std::int64_t scratchpad_bytes = 0, scratchpad_reserved_bytes = 0;  // of a core; of every resident block
  double scratchpad_ratio = 1, scratchpad_pass_cycles = 1;
  std::optional<double> scratchpad_port_bytes;  // that pass it in a cycle; what a pass has where the chip does not say
  double scratchpad_lanes = 1;                  // that pass it in a cycle
  double scratchpad_latency_cycles = 0;

  std::optional<double> core_cache_bytes_per_cycle;  // none without such a cache
  std::optional<double> core_cache_tags;             // looked up in a cycle
  double core_cache_ratio = 1;                       // of passes through its banks; the bandwidth has it already
  std::optional<double> link_bytes_per_cycle;        // of the core's own link to the device

  PipeUse special;  // exp, sqrt, divisions; they are as fast as other arithmetic where the chip has none
  std::vector<Arithmetic> arithmetic;  // of the entries of `compute`, in their order

  bool operator==(const CoreRates&) const = default;
};

// The resources that work at the same time: where each one's time stands among the terms of an estimate.
struct Resources {
  std::size_t issue = 0, arithmetic = 0, scratchpad = 0;
  std::size_t core_cache = 0;  // the core's path to memory, also without a cache
  base::FixedVector<std::size_t, arch::kMaxDeviceCaches> device_caches;
  std::size_t dram = 0;
  std::optional<std::size_t> dispatch;  // of blocks, where that takes time

  bool operator==(const Resources&) const = default;
};

// How many cores there are, their clock, what is beyond them, and when blocks start.
struct DeviceRates {
  double clock_hz = 0;
  std::int64_t cores = 0;
  double core_cache_bytes = 0, core_cache_latency_cycles = 0;

  // From the one that cores reach first (L2) to the one next to DRAM; none on a chip whose cores reach DRAM at once.
  base::FixedVector<DeviceCache, arch::kMaxDeviceCaches> device_caches;
  double cache_partitions = 1;  // of the first, each of which keeps what its own cores use

  double dram_bytes_per_us = 0, dram_latency_cycles = 0;
  DramRows dram_rows;
  MemoryBounds bounds;
  double dram_read_ratio = 1, dram_write_ratio = 1, dram_copy_ratio = 1;

  double launch_us = 0;
  std::optional<double> block_interval_us;  // from one block's start to the next one's, on any core; else all at once
  // From a block's end to its successor's first instruction, and from the first one of a warp to that of the next.
  double block_launch_cycles = 0, warp_launch_cycles = 0;
  Terms terms;          // what times are made of: those of `resources`, then latency and launch
  Resources resources;  // where they stand among the terms
  LevelUses levels;     // outermost first

  // Terms but for latency and launch.
  std::size_t resource_count() const { return terms.size() - 2; }

  bool operator==(const DeviceRates&) const = default;
};

// What counts take to become times.
struct Rates : CoreRates, DeviceRates {
  bool operator==(const Rates&) const = default;
};

// All of them. What counts a program takes a Geometry, so that it cannot see a rate.
struct Machine : Geometry, Rates {
  const arch::ArchSpec* arch = nullptr;  // outlives the machine
};

Machine make_machine(const arch::ArchSpec& a);
Geometry make_geometry(const arch::ArchSpec& a);

// That the port of a scratchpad is busy with one pass through its banks: a word of each, or of each lane of a warp.
double cycles_of_pass(const arch::ScratchpadLevel& level, std::int64_t warp);

// The calibration ratios that a machine of this chip works with: of levels, outermost first, then of instructions.
std::vector<std::string> ratios_read(const arch::ArchSpec& a);

// The unit for the dtypes, else the one that the accumulator's dtype has; nothing where the chip has neither.
std::optional<Arithmetic> arithmetic_of(const Machine& m, base::Dtype dtype, base::Dtype accumulate);

// Of an instruction of that name; nothing where the chip has none.
std::optional<Arithmetic> arithmetic_of(const Machine& m, const std::string& instruction);

}  // namespace tilescope::model
