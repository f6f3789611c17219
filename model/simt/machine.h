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

// Cycles for which one lane of an instruction occupies each pipe, if all partitions are equally busy.
struct PipeUse {
  PipeCycles cycles_per_lane{};
  bool any = false;  // false: only issue slots bound it

  bool operator==(const PipeUse&) const = default;
};

// One cache of device scope.
struct DeviceCache {
  double bytes_per_us = 0, capacity_bytes = 0, latency_cycles = 0;
  double request_bytes = 0;  // the ports' time for a request besides its data; only of the cache that cores reach first
  std::int64_t sector_bytes = 0;

  // The time that its ports take for `bytes` in `requests`, in microseconds.
  double port_us(double bytes, double requests) const { return (bytes + requests * request_bytes) / bytes_per_us; }

  bool operator==(const DeviceCache&) const = default;
};

// Rates of row activations and commands in DRAM.
struct DramRows {
  double row_bytes = 0, line_bytes = 0;  // of a row of one channel; of neighbours that lie in one channel
  double granule_bytes = 0;              // of the smallest transfer
  // What the last cache writes back at a time: a line, where those of a row lie in sets that age apart. Absent where
  // lines leave in the order in which they came.
  std::optional<double> written_back_bytes;
  double queued = 0;               // requests among which a channel's controller chooses those of an open row
  double channels = 1, banks = 1;  // of the chip; of a channel
  // Row activations of all channels together. A channel allows four rows per faw, one per rrd_s, one of each of its
  // banks per rc, and what its command bus passes, all between refreshes. Absent, and rows cost nothing, where the file
  // states no `row` or no banks.
  std::optional<double> activates_per_us;
  // Bursts of all channels together: a channel's columns are ccd_s apart, those of one bank group ccd_l, and a bus that
  // pseudo-channels share passes one per clock. Absent where the data bus is the tighter limit.
  std::optional<double> bursts_per_us;
  // Commands of all command buses that carry rows and columns, and the slots that an activate and its precharge take.
  std::optional<double> commands_per_us;
  double commands_of_activate = 0;
  // Share of the time in which a channel's data bus works. A channel with one rank stops while it is refreshed, while
  // its rows are closed before that and while they are opened after it.
  double between_refreshes = 1;
  double refreshes_per_us = 0;  // commands to all channels; 0 where the file does not say when they are due

  bool operator==(const DramRows&) const = default;
};

// Rates of one arithmetic instruction: calibrated multiply-adds per cycle and core, latency, and the pipes that one
// multiply-add occupies.
struct Arithmetic {
  double per_cycle = 0;
  double latency_cycles = 0;
  PipeUse use;

  bool operator==(const Arithmetic&) const = default;
};

// Bounds of the levels of device scope besides the width of their ports (model/simt/detail/memory_bounds.h). A figure
// that the chip's file does not state bounds nothing.
struct MemoryBounds {
  double line_bytes = 0;                           // of the cache that cores reach first
  std::optional<double> max_requests, max_misses;  // in flight in all its slices
  double way_us = 0, request_bytes = 0;         // travel time of a request; the port's time besides its data, in bytes
  double slice_bytes_per_us = 0;                // of a slice's port
  std::optional<double> crossing_bytes_per_us;  // that all its partitions take from each other
  std::optional<double> cluster_bytes_per_us;   // of all ports that cores share, in one direction
  double clusters = 1;
  std::int64_t cluster_cores = 1;
  double asking_bytes = 0;  // of such a port, for a request without data: the width of a core's own link
  std::optional<double> translations_per_us;  // page table walks
  double page_bytes = 0, reach_bytes = 0;     // of a page; of all pages in the TLB
  bool translates_writes = false;

  // Whether anything bounds the cache that cores reach first.
  bool of_cache() const { return max_requests || max_misses || crossing_bytes_per_us || cluster_bytes_per_us; }

  bool operator==(const MemoryBounds&) const = default;
};

// The properties of a chip that determine what a program does: the accesses of its threads, what they touch, and what a
// thread holds. A program has the same counts (counts.h) on all chips of equal geometry, whatever their rates are.
struct Geometry {
  std::int64_t warp = 0;
  arch::CoreSpec engines;  // of the core: only what copies and shared reductions depend on

  std::int64_t banks = 0, bank_width_bytes = 0;
  std::int64_t broadcast_groups = 1;  // of lanes that one pass serves where neighbours read the same words

  bool has_core_cache = false;
  bool core_cache_shared = false;  // shares capacity and bank port with the scratchpad
  std::int64_t line_bytes = 0;     // of the core's cache

  std::int64_t sector_bytes = 0;        // the smallest transfer between a core and the first device cache, or DRAM
  std::int64_t load_sector_bytes = 0;   // the same for loads, which fill whole sectors of the core's cache
  std::int64_t dram_granule_bytes = 0;  // the smallest transfer to or from DRAM: a sector or a burst
  bool has_device_caches = false;
  std::int64_t device_line_bytes = 0;  // of the first device cache
  bool bounds_requests = false;        // whether the number of requests matters to the first device cache
  // How the first device cache handles a store of part of a sector that it lacks; and the burst that DRAM reads where
  // it does not receive whole write granules. Such stores cost nothing where the chip's file does not state them.
  std::optional<arch::PartialWrite> partial_write;
  std::int64_t burst_bytes = 0, write_granule_bytes = 0;

  bool separate_sums = false;              // matrix instructions keep their sums in registers of their own
  double compiler_unroll = 1;              // iterations of a loop that the compiler unrolls by its own choice
  arch::RegisterAllowances allowances;     // registers that the compiler holds besides values
  std::optional<std::int64_t> predicates;  // that the compiler keeps for a thread; absent: any number
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
  double conflict_cycles = 0;  // that a multiply-add of a warp waits for registers of one bank, in the mean
  std::size_t pipes = 0;
  std::array<bool, arch::kMaxPipes> accesses{};  // whether a pipe executes accesses, and no arithmetic
  PipeUse integer, memory, scratchpad;           // of arch::kOtherInstructions
  double access_lanes = 0;                       // lanes whose memory accesses a core takes in a cycle

  std::int64_t registers = 0, registers_per_thread = 0;  // 32-bit; of a core, of a thread
  std::int64_t register_granule = 1;                     // allocation unit of a thread's registers
  std::int64_t assumed_block = 0;  // threads of a block that the compiler assumes without a limit; 0: the block's own

  std::int64_t scratchpad_bytes = 0, scratchpad_reserved_bytes = 0;  // of a core; reserved in every resident block
  double scratchpad_ratio = 1, scratchpad_pass_cycles = 1;
  std::optional<double> scratchpad_port_bytes;  // that pass the port in a cycle; absent: the bytes of a pass
  double scratchpad_lanes = 1;                  // that pass the port in a cycle
  double scratchpad_latency_cycles = 0;

  std::int64_t tensor_columns = 0,
               tensor_granule = 1;  // of a core's tensor memory; of which a block takes a power of 2
  double tensor_bytes_per_cycle = 1, tensor_latency_cycles = 0;

  std::optional<double> core_cache_bytes_per_cycle;  // absent without such a cache
  std::optional<double> core_cache_tags;             // tags looked up in a cycle
  std::optional<double> core_misses;           // requests for lines in flight at most; absent where that never binds
  double core_cache_ratio = 1;                 // of passes through its banks; core_cache_bytes_per_cycle includes it
  std::optional<double> link_bytes_per_cycle;  // of the core's own link to the device
  double cluster_latency_cycles = 0;           // from an arrival to an mbarrier of another block of the cluster
  std::optional<double> tma_line_cycles;       // of the core's TMA engine, for each line that it requests
  // Between two asynchronous copy instructions of warps; `fenced`: where a proxy fence follows. 0: as other accesses.
  double async_copy_cycles = 0, fenced_copy_cycles = 0;

  PipeUse special;                     // exp, sqrt, divisions; as other arithmetic where the chip has no unit for them
  std::vector<Arithmetic> arithmetic;  // one for each entry of `compute`, in order

  bool operator==(const CoreRates&) const = default;
};

// The resources that work at the same time: the positions of their times among the terms of an estimate.
struct Resources {
  std::size_t issue = 0, arithmetic = 0, scratchpad = 0;
  std::size_t core_cache = 0;  // the core's path to memory, also without a cache
  base::FixedVector<std::size_t, arch::kMaxDeviceCaches> device_caches;
  std::size_t dram = 0;
  std::optional<std::size_t> dispatch;  // of blocks, where that takes time

  bool operator==(const Resources&) const = default;
};

// The number and clock of the cores, the levels beyond them, and the times at which blocks start.
struct DeviceRates {
  double clock_hz = 0;
  std::int64_t cores = 0;
  double core_cache_bytes = 0, core_cache_latency_cycles = 0;

  // From the one that cores reach first (L2) to the one next to DRAM; empty on a chip whose cores reach DRAM directly.
  base::FixedVector<DeviceCache, arch::kMaxDeviceCaches> device_caches;
  double cache_partitions = 1;  // of the first cache; each holds what its own cores use

  double dram_bytes_per_us = 0, dram_latency_cycles = 0;
  DramRows dram_rows;
  MemoryBounds bounds;
  double dram_read_ratio = 1, dram_write_ratio = 1, dram_copy_ratio = 1;

  double launch_us = 0;
  std::optional<double> block_interval_us;  // between the starts of two blocks, on any cores; absent: all at once
  // From a block's end to its successor's first instruction, and from a warp's first instruction to the next warp's.
  double block_launch_cycles = 0, warp_launch_cycles = 0;
  Terms terms;          // those of an estimate: of `resources`, then latency and launch
  Resources resources;  // their positions among the terms
  LevelUses levels;     // outermost first

  // Number of terms without latency and launch.
  std::size_t resource_count() const { return terms.size() - 2; }

  bool operator==(const DeviceRates&) const = default;
};

// The rates that turn counts into times.
struct Rates : CoreRates, DeviceRates {
  bool operator==(const Rates&) const = default;
};

// Geometry and rates. Code that counts a program takes a Geometry, so that it cannot read a rate.
struct Machine : Geometry, Rates {
  const arch::ArchSpec* arch = nullptr;  // outlives the machine
};

Machine make_machine(const arch::ArchSpec& a);
Geometry make_geometry(const arch::ArchSpec& a);

// Cycles that the port of a scratchpad is busy with one pass through its banks: a word of each bank, or of each lane of
// a warp if these are fewer.
double cycles_of_pass(const arch::ScratchpadLevel& level, std::int64_t warp);

// Names of the calibration ratios that a machine of this chip uses: of levels, outermost first, then of instructions.
std::vector<std::string> ratios_read(const arch::ArchSpec& a);

// The entry of `compute` whose pipe computes special functions, where the chip has one.
inline constexpr std::string_view kSpecialInstruction = "special.f32";

// The unit for the dtypes, else the unit for the accumulator's dtype; null, or nullopt, where the chip has neither.
const arch::ComputeSpec* scalar_unit(const Machine& m, base::Dtype dtype, base::Dtype accumulate);
std::optional<Arithmetic> arithmetic_of(const Machine& m, base::Dtype dtype, base::Dtype accumulate);

// The instruction of that name; nullopt where the chip has none.
std::optional<Arithmetic> arithmetic_of(const Machine& m, const std::string& instruction);

}  // namespace tilescope::model
