// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a model says of a program's time: named terms, the levels that it moves data through, and what bounds it.
// Names are the chip's own and live as long as the chip.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "arch/hierarchy.h"
#include "base/fixed_vector.h"

namespace tilescope::model {

// Scratchpad, core cache, device caches, DRAM.
inline constexpr std::size_t kMaxLevels = arch::kMaxDeviceCaches + 3;
// A term a level, and of what is no level: issue, arithmetic, dispatch, latency, launch.
inline constexpr std::size_t kMaxTerms = kMaxLevels + 5;

// What a time is made of.
struct NamedTerm {
  std::string_view name;  // of a level's term the level's
  bool overlaps = true;   // with the others that do; a term that does not comes on top of them
  double time_us = 0;     // that it alone would take

  bool operator==(const NamedTerm&) const = default;
};
using Terms = base::FixedVector<NamedTerm, kMaxTerms>;

// What one level moves.
struct LevelUse {
  std::string_view name;
  double bytes = 0;
  double transactions = 0;    // scratchpad: passes; caches and DRAM: sectors
  double conflict_ratio = 1;  // scratchpad: passes over the least that the bytes need; else bytes moved over bytes used
  double time_us = 0;         // at this level's rate alone

  bool operator==(const LevelUse&) const = default;
};
using LevelUses = base::FixedVector<LevelUse, kMaxLevels>;

struct Occupancy {
  std::int64_t registers_per_thread = 0;  // 32-bit, what the compiler is expected to use
  std::int64_t spilled_per_thread = 0;    // values that do not fit and live in local memory
  std::int64_t blocks_per_core = 1;
  double ratio = 0;             // resident threads over the most a core can have
  std::string_view limited_by;  // threads, blocks, scratchpad or registers
};

// Of a stage; of a program the sums of its stages' terms, levels and times, and of the rest what its longest stage has.
struct Estimate {
  std::int64_t blocks = 0;
  double waves = 0;
  Occupancy occupancy;
  Terms terms;              // those that overlap first
  LevelUses levels;         // outermost first
  double core_sectors = 0;  // that cores ask the device for
  // What kernels on SIMT cores read of DRAM, and write to it or leave in the device's caches to be written.
  double dram_read_bytes = 0, dram_written_bytes = 0;
  double dirty_bytes = 0;  // of the latter, what caches hold at the end; of programs of several stages alone
  double total_us = 0;
  std::size_t bottleneck = 0;  // the largest of the terms

  // By name; nothing of a name that the chip does not have.
  double term_us(std::string_view name) const;
  LevelUse level(std::string_view name) const;
};

// Of stages that run one after another, of which there is one at least.
Estimate sum_of(std::span<const Estimate> stages);

}  // namespace tilescope::model
