// SPDX-License-Identifier: Apache-2.0
#pragma once
// Effects of a chip (peaks, bandwidths, transactions) from its causes (arch/spec.h), in closed form.

#include <optional>
#include <string>
#include <string_view>

#include "arch/hierarchy.h"
#include "arch/spec.h"

namespace tilescope::arch {

// Whether an instruction multiplies one element at a time.
inline bool is_scalar_unit(const ComputeSpec& c) { return c.m == 1 && c.n == 1 && c.k == 1; }

// The fastest instruction that multiplies `dtype` into `accumulate` one element at a time (a 1x1x1 shape), or null.
const ComputeSpec* scalar_unit_of(const ArchSpec& a, Dtype dtype, Dtype accumulate);

// The clock of a level: its own, or the core's.
Hertz clock_of(const ArchSpec& a, const DramLevel& level);
Hertz clock_of(const ArchSpec& a, const CacheLevel& level);

// The bandwidth of all instances of the level together, from clock, rate, channels, slices, banks and widths. Zero for
// registers: operands come with the instruction, whose rate is in `compute`.
BytesPerSecond bandwidth_of(const ArchSpec& a, const DramLevel& level);
BytesPerSecond bandwidth_of(const ArchSpec& a, const CacheLevel& level);
BytesPerSecond bandwidth_of(const ArchSpec& a, const ScratchpadLevel& level);
BytesPerSecond bandwidth_of(const ArchSpec& a, const TensorLevel& level);
BytesPerSecond bandwidth_of(const ArchSpec& a, const Level& level);

// Bytes per cycle of the core clock that one core gets from a level of core scope.
double bytes_per_core_cycle(const ArchSpec& a, const CacheLevel& level);
double bytes_per_core_cycle(const ArchSpec& a, const ScratchpadLevel& level);

// The bandwidth of all ports of the link together, one way.
BytesPerSecond bandwidth_of(const ArchSpec& a, const LinkSpec& link);

// The peak of the chip for the instruction, with two operations per multiply-add.
FlopsPerSecond peak_of(const ArchSpec& a, const ComputeSpec& unit);

// The smallest amount that a level moves at once: DRAM width x burst; a cache sector; scratchpad banks x bank_width, or
// one bank_width if the scratchpad has `load`; one register; a column of one lane of tensor memory.
Bytes transaction_of(const DramLevel& level);
Bytes transaction_of(const CacheLevel& level);
Bytes transaction_of(const ScratchpadLevel& level);
Bytes transaction_of(const RegisterLevel& level);
Bytes transaction_of(const TensorLevel& level);
Bytes transaction_of(const Level& level);

// The smallest amount that a core moves from or to the levels of device scope: a sector of their innermost cache or,
// without one, a transaction of the DRAM.
Bytes device_transaction_of(const ArchSpec& a);

// The bandwidth of the level of device scope that cores reach first: their innermost cache or, without one, the DRAM.
BytesPerSecond device_bandwidth_of(const ArchSpec& a);

// The memory that holds whole arrays: the DRAM or, without one, the scratchpads of all cores together.
struct HomeMemory {
  std::string name;
  Bytes capacity, transaction;
};
HomeMemory home_memory_of(const ArchSpec& a);

// The widest access of one thread; zero bytes if the chip does not state it.
Bytes widest_access_of(const ArchSpec& a);

// The calibration ratio of that key, or 1 where the chip has none.
double ratio_of(const ArchSpec& a, std::string_view key);

// The most scratchpad that one block may use.
Bytes scratchpad_per_block(const ScratchpadLevel& level);

// Columns of tensor memory, and those that a block takes which needs `columns`: a granule, or twice as much until they
// fit.
std::int64_t tensor_columns(const TensorLevel& level);
std::int64_t allocated_columns(const TensorLevel& level, std::int64_t columns);

// 32-bit registers of one core.
std::int64_t registers_per_core(const RegisterLevel& level);

// The most registers that a compiler may give each thread of a block of `threads` threads so that the block fits the
// core. Each partition has its share of the registers, and partitions get warps in turn (NVIDIA, cuda_occupancy.h).
// Unlimited if the chip has no register level.
std::int64_t max_registers(const ArchSpec& a, std::int64_t threads);

// The power of the board with nothing running, c + V^2 (L + k f).
struct PowerAtRest {
  Watts board;       // c: of the board and of the DRAM's channels
  Watts leakage;     // V^2 L of all cores
  Watts clock_tree;  // V^2 k f of all cores

  Watts sum() const { return board + leakage + clock_tree; }
};

// With the figures as they are stated; nullopt where the curve ends below the clock.
std::optional<PowerAtRest> power_at_rest(const ArchSpec& a, const PowerSpec& power, Hertz clock);

// The link between the cores of a chip of class bsp, which must have one (checked), and the time of a barrier of the
// cores.
const LinkSpec& core_link(const ArchSpec& a);
Cycles core_sync(const ArchSpec& a);

}  // namespace tilescope::arch
