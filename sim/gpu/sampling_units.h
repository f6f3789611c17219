// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sampling units of a simulation: the statistics between two moments, per unit of progress, and how far two sampling
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

// Progress of the block in one CTA slot: its core, its number of warps, the largest number of warps in a partition that
// one of its warps shares (`crowd`), the steps that its warps and those of earlier blocks in the slot have begun, the
// least number of steps that one of its warps has left, and the time stamp of its start.
struct StepProgress {
  bool resident = false;
  int core = 0;
  std::int64_t warps = 0;
  std::int64_t crowd = 0;
  std::int64_t begun = 0;
  std::int64_t min_remaining = 0;
  bool inside = false;  // every warp is in the step loop
  Cycle stamp{};
  std::int64_t cluster = -1;  // whose blocks skip the same steps; -1: the block is alone
};

// The effect of a jump on the block of one CTA slot: its warps skip `steps`. Where another block (`successor`) occupies
// the slot after the jump, they become that block's warps and then move by `steps`, backwards if negative.
struct StepJump {
  std::int64_t steps = 0;
  std::int64_t successor = -1;
  Cycle stamp{};  // of the successor
};

// The state of a simulation at one moment.
struct Checkpoint {
  Cycle at{};  // skipped time included
  Statistics statistics;
  std::vector<StepProgress> blocks;  // where steps are sampled: every CTA slot of all cores
};

// The statistic that measures progress.
using Progress = std::int64_t Statistics::*;

struct SamplingUnit {
  const Checkpoint *from = nullptr, *to = nullptr;

  Cycle cycles() const { return to->at - from->at; }
  std::int64_t progress(Progress p) const { return to->statistics.*p - from->statistics.*p; }
  // Bytes read and written at a level.
  double bytes(LevelRole r) const;
};

// Cycles and bytes per unit of progress.
struct Cpi {
  double cycles = 0, cache_bytes = 0, dram_bytes = 0;
};
Cpi cpi_of(const SamplingUnit& w, Progress p);

// Relative error of the mean of two CPIs: half of their difference over their mean. For time, bytes of the device's
// cache, bytes of the DRAM.
using CpiError = std::array<double, 3>;
CpiError error_of(const Cpi& a, const Cpi& b);

// Relative error of the mean CPI of several units of one width: half of the 80 % confidence interval over the mean
// (Student, Biometrika 6, 1908). Two units must agree far more closely than many.
CpiError error_of(std::span<const Cpi> units);

// Whether the error in time is at most `tolerance`, and the errors in bytes at most a multiple of it.
bool within(const CpiError& e, double tolerance);

// The last checkpoints of a run.
class Checkpoints {
 public:
  void add(Checkpoint m);
  void clear() { checkpoints_.clear(); }
  std::size_t size() const { return checkpoints_.size(); }
  // Drops every second checkpoint but keeps the last: units of one checkpoint become twice as wide.
  void thin();
  // The sampling unit that is `width` checkpoints wide and ends `before` checkpoints before the last one; nothing where
  // there are too few checkpoints.
  std::optional<SamplingUnit> unit(std::size_t width, std::size_t before = 0) const;
  // The whole range of checkpoints in two halves; nothing where there are fewer than three checkpoints.
  std::optional<std::pair<SamplingUnit, SamplingUnit>> halves() const;

 private:
  std::vector<Checkpoint> checkpoints_;
};

}  // namespace tilescope::sim
