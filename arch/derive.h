#pragma once
// The effects of a chip's causes: peaks, bandwidths and transactions. Closed forms; nothing measured.

#include <string_view>

#include "arch/spec.h"

namespace tilescope::arch {

// The outermost level, and the levels of a kind and scope that programs are tiled for; null where the chip has none.
const LevelSpec* dram_of(const ArchSpec& a);
const LevelSpec* device_cache_of(const ArchSpec& a);  // the outermost cache of device scope (L2)
const LevelSpec* core_cache_of(const ArchSpec& a);    // the cache of core scope (L1)
const LevelSpec* scratchpad_of(const ArchSpec& a);
const LevelSpec* registers_of(const ArchSpec& a);

// The fastest instruction that multiplies `dtype` into `accumulate` one element at a time (a 1x1x1 shape), or null.
const ComputeSpec* scalar_unit_of(const ArchSpec& a, Dtype dtype, Dtype accumulate);

// Bytes a second of all instances of the level together, from clock, rate, channels, slices, banks and widths.
BytesPerSecond bandwidth_of(const ArchSpec& a, const LevelSpec& level);

// Bytes a cycle of the core clock that one core gets from a level of core scope.
double bytes_per_core_cycle(const ArchSpec& a, const LevelSpec& level);

// Bytes a second that all ports of the link take together, one way.
BytesPerSecond bandwidth_of(const ArchSpec& a, const LinkSpec& link);

// Two operations per multiply-add.
FlopsPerSecond peak_of(const ArchSpec& a, const ComputeSpec& unit);

// The least a level moves at once: dram width x burst, cache sector, scratchpad banks x bank_width; one bank's word
// where the scratchpad says what a core loads.
Bytes transaction_of(const LevelSpec& level);

// The widest access of one thread, or nothing wide: zero bytes where the chip does not say.
Bytes widest_access_of(const ArchSpec& a);

// The calibration ratio of that key, or 1 where the chip has none.
double ratio_of(const ArchSpec& a, std::string_view key);

// What one core holds of the scratchpad for one block and in all.
Bytes scratchpad_per_block(const LevelSpec& level);

// 32-bit registers of one core.
std::int64_t registers_per_core(const LevelSpec& level);

// What a compiler may give each thread of a block of so many: a block has to fit the core, whose partitions each have
// their share of the registers and warps in turn (NVIDIA, cuda_occupancy.h). Without registers, as many as it likes.
std::int64_t most_registers(const ArchSpec& a, std::int64_t threads);

}  // namespace tilescope::arch
