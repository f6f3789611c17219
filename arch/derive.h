// SPDX-License-Identifier: Apache-2.0
#pragma once
// The effects of a chip's causes: peaks, bandwidths and transactions. Closed forms; nothing measured.

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

// Bytes a second of all instances of the level together, from clock, rate, channels, slices, banks and widths. Of
// registers none: operands come with the instruction, whose rate is in `compute`.
BytesPerSecond bandwidth_of(const ArchSpec& a, const DramLevel& level);
BytesPerSecond bandwidth_of(const ArchSpec& a, const CacheLevel& level);
BytesPerSecond bandwidth_of(const ArchSpec& a, const ScratchpadLevel& level);
BytesPerSecond bandwidth_of(const ArchSpec& a, const Level& level);

// Bytes a cycle of the core clock that one core gets from a level of core scope.
double bytes_per_core_cycle(const ArchSpec& a, const CacheLevel& level);
double bytes_per_core_cycle(const ArchSpec& a, const ScratchpadLevel& level);

// Bytes a second that all ports of the link take together, one way.
BytesPerSecond bandwidth_of(const ArchSpec& a, const LinkSpec& link);

// Two operations per multiply-add.
FlopsPerSecond peak_of(const ArchSpec& a, const ComputeSpec& unit);

// The least a level moves at once: dram width x burst, cache sector, scratchpad banks x bank_width; one bank's word
// where the scratchpad says what a core loads; one register.
Bytes transaction_of(const DramLevel& level);
Bytes transaction_of(const CacheLevel& level);
Bytes transaction_of(const ScratchpadLevel& level);
Bytes transaction_of(const RegisterLevel& level);
Bytes transaction_of(const Level& level);

// The least that a core moves from or to the levels of device scope: a sector of their innermost cache, else of DRAM.
Bytes device_transaction_of(const ArchSpec& a);

// Bytes a second of the level of device scope that cores reach first: their innermost cache, else DRAM.
BytesPerSecond device_bandwidth_of(const ArchSpec& a);

// The widest access of one thread, or nothing wide: zero bytes where the chip does not say.
Bytes widest_access_of(const ArchSpec& a);

// The calibration ratio of that key, or 1 where the chip has none.
double ratio_of(const ArchSpec& a, std::string_view key);

// What one core holds of the scratchpad for one block and in all.
Bytes scratchpad_per_block(const ScratchpadLevel& level);

// 32-bit registers of one core.
std::int64_t registers_per_core(const RegisterLevel& level);

// What a compiler may give each thread of a block of so many: a block has to fit the core, whose partitions each have
// their share of the registers and warps in turn (NVIDIA, cuda_occupancy.h). Without registers, as many as it likes.
std::int64_t max_registers(const ArchSpec& a, std::int64_t threads);

// The link between the cores of a chip of class bsp, which has one (checked); and what a barrier of theirs takes.
const LinkSpec& core_link(const ArchSpec& a);
Cycles core_sync(const ArchSpec& a);

}  // namespace tilescope::arch
