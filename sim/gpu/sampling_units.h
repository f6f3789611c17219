// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sampling units of a simulation: what happened between two moments, per unit of progress, and how far two sampling
// units differ.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/memory/reservation_table.h"
#include "sim/statistics.h"

namespace tilescope::sim {

// Of one CTA slot, and the block there: its core, its warps, how many of the core's are at most in a partition with one
// of its own, steps that they and those before them in the same place have begun, the least number of steps that any of
// them has before it, and the stamp that it began with.
struct StepProgress {
  bool resident = false;
  int core = 0;
  std::int64_t warps = 0;
  std::int64_t crowd = 0;
  std::int64_t begun = 0;
  std::int64_t min_remaining = 0;
  bool inside = false;  // every warp is in the loop over steps
  Cycle stamp{};
};

// What a jump does with the block of one place: its warps leave out `steps`, or where another block stands in its place
// by then, they become that one's, so many steps further on (fewer than none: back).
struct StepJump {
  std::int64_t steps = 0;
  std::int64_t successor = -1;
  Cycle stamp{};  // of the successor
};

// One moment.
struct Checkpoint {
  Cycle at{};  // with what was skipped
  Statistics statistics;
  std::vector<StepProgress> blocks;  // where steps are looked at: every place of all cores
};

// What progress is counted in.
using Progress = std::int64_t Statistics::*;

struct SamplingUnit {
  const Checkpoint *from = nullptr, *to = nullptr;

  Cycle cycles() const { return to->at - from->at; }
  std::int64_t progress(Progress p) const { return to->statistics.*p - from->statistics.*p; }
  // Bytes read and written at a level.
  double bytes(LevelRole r) const;
};

// Of one unit of progress.
struct Cpi {
  double cycles = 0, cache_bytes = 0, dram_bytes = 0;
};
Cpi cpi_of(const SamplingUnit& w, Progress p);

// What the mean of two CPIs may be off by: half of what they differ by, of their mean. In time, bytes of the device's
// cache, bytes of the DRAM.
using CpiError = std::array<double, 3>;
CpiError error_of(const Cpi& a, const Cpi& b);

// What the mean CPI of several units of one width may be off by: half of the interval of 80 % confidence, of the mean
// (Student, Biometrika 6, 1908). Two units have to be far more alike than many.
CpiError error_of(std::span<const Cpi> units);

// Whether time may be off by no more than `tolerance`, and bytes by no more than a multiple of it.
bool within(const CpiError& e, double tolerance);

// The last checkpoints of a run.
class Checkpoints {
 public:
  void add(Checkpoint m);
  void clear() { checkpoints_.clear(); }
  std::size_t size() const { return checkpoints_.size(); }
  // Forgets every second one, the last kept: units of one checkpoint are twice as wide.
  void thin();
  // The sampling unit of that width, in checkpoints, that ends `before` checkpoints before the last one; or nothing.
  std::optional<SamplingUnit> unit(std::size_t width, std::size_t before = 0) const;
  // All that is between checkpoints in two halves; nothing where that is one sampling unit.
  std::optional<std::pair<SamplingUnit, SamplingUnit>> halves() const;

 private:
  std::vector<Checkpoint> checkpoints_;
};

}  // namespace tilescope::sim
