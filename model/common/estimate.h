// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model's prediction of a program's time: named terms, the levels that the program moves data through, and the
// bottleneck. Names are the chip's own and live as long as the chip.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "arch/hierarchy.h"
#include "base/fixed_vector.h"
#include "energy/counts.h"

namespace tilescope::model {

// Scratchpad, core cache, device caches, DRAM.
inline constexpr std::size_t kMaxLevels = arch::kMaxDeviceCaches + 3;
// One term per level, and one each for issue, arithmetic, dispatch, latency and launch.
inline constexpr std::size_t kMaxTerms = kMaxLevels + 5;

// One component of a time.
struct NamedTerm {
  std::string_view name;  // the term of a level has the level's name
  bool overlaps = true;   // with the other overlapping terms; a term that does not overlap adds to their time
  double time_us = 0;     // of this term alone

  bool operator==(const NamedTerm&) const = default;
};
using Terms = base::FixedVector<NamedTerm, kMaxTerms>;

// The traffic of one level.
struct LevelUse {
  std::string_view name;
  double bytes = 0;
  double transactions = 0;    // scratchpad: passes; caches and DRAM: sectors
  double conflict_ratio = 1;  // scratchpad: passes over those without bank conflicts; else bytes moved over bytes used
  double time_us = 0;         // at this level's rate alone

  bool operator==(const LevelUse&) const = default;
};
using LevelUses = base::FixedVector<LevelUse, kMaxLevels>;

struct Occupancy {
  std::int64_t registers_per_thread = 0;  // 32-bit, what the compiler is expected to use
  std::int64_t spilled_per_thread = 0;    // values that do not fit and live in local memory
  std::int64_t blocks_per_core = 1;
  double ratio = 0;             // resident threads over the most a core can have
  std::string_view limited_by;  // threads, blocks, scratchpad or registers; cores on tiles that exchange
};

// The estimate of a stage or of a program. Terms, levels, sectors, bytes, counts and times of a program are the sums
// over its stages, conflict ratios the maxima; its other fields are those of its longest stage.
struct Estimate {
  std::int64_t blocks = 0;
  double waves = 0;
  Occupancy occupancy;
  Terms terms;              // overlapping ones first
  LevelUses levels;         // outermost first
  double core_sectors = 0;  // that cores request from the device
  // On SIMT cores: bytes that kernels read from DRAM, and bytes that they write to it or leave in the device's caches
  // to be written.
  double dram_read_bytes = 0, dram_written_bytes = 0;
  double dirty_bytes = 0;  // what caches hold of dram_written_bytes at the end; only of several stages
  energy::Counts counts;
  double total_us = 0;
  std::size_t bottleneck = 0;  // position of the largest term

  // The time of the term, and the use of the level, of that name; 0 and a default LevelUse where the chip has none.
  double term_us(std::string_view name) const;
  LevelUse level(std::string_view name) const;
};

// The estimate of stages that run one after another; there is at least one.
Estimate sum_of(std::span<const Estimate> stages);

}  // namespace tilescope::model
