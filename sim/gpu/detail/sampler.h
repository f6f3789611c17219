// SPDX-License-Identifier: Apache-2.0
#pragma once
// When a simulation may leave something out, and what that something would have cost. Two steady states are looked for,
// each by two disjoint sampling units that agree: steps within the resident blocks, and waves of blocks. Sampling units
// that disagree grow. Once two sampling units of steps have agreed, one that agrees with them is enough while as many
// warps are resident.
// What is left out is jumped over, so that the addresses which follow are real; time and amounts go on at the sampling
// units' rate.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/gpu/detail/fast_forward.h"
#include "sim/gpu/sampling_units.h"

namespace tilescope::sim {

struct SamplerSpec {
  bool enabled = false;
  std::int64_t resident = 1;              // blocks at most, on all cores
  bool clusters = false;                  // blocks start and end in clusters: none does within a jump over steps
  std::int64_t steps = 0;                 // of a block, where it begins the loop over them once
  bool uneven = false;                    // whether blocks may have different numbers of steps
  std::int64_t step_period = 1;           // steps after which a block's accesses begin anew
  std::vector<std::int64_t> cache_bytes;  // of the device's caches, from the one that cores reach first on
  double tolerance = 0;                   // by which the mean of two sampling units that agree may be off in time
};

class Sampler {
 public:
  Sampler(const SamplerSpec& spec, Statistics& statistics);

  // Blocks started or ended: the steps that sampling units count are others now.
  void residents_changed(Cycle now);
  // Time that was jumped over.
  Cycle skipped() const { return skipped_; }
  std::int64_t skipped_blocks() const { return skipped_blocks_; }
  std::int64_t skipped_warp_steps() const { return skipped_warp_steps_; }
  bool skipped_any() const { return skipped_blocks_ > 0 || skipped_warp_steps_ > 0; }

  // Whether a sampling unit of steps is full; asked in every turn. `warps` are resident.
  bool steps_due(std::int64_t warps);
  // What the warps of every block leave out, where the state is steady; nothing where it is not. Each block at its own
  // rate, as it would have; blocks that end meanwhile are followed by the next of those not yet started.
  FastForward jump_steps(Cycle now, const std::vector<StepProgress>& blocks, std::int64_t next_block,
                         std::int64_t not_started);

  // While the caches were made to see what a jump left out, so many bytes more left the device's cache to be written
  // than came to wait there.
  void cleaned(std::int64_t bytes);

  // The same for waves: blocks that are left out of those not yet started; 0 where there is no steady state yet.
  std::int64_t jump_waves(Cycle now, std::int64_t not_started);

 private:
  // What the end of a block adds to its steps: parts of spans whose steps are subtracted from each other.
  struct EndPart {
    Checkpoint from, to;
    double times = 0;
  };
  void add_steps(const FastForward& t);
  void learn_ends(const SamplingUnit& steady);
  void count_alike(const Statistics& before, const FastForward& t);
  Cpi of_an_end() const;
  bool in_tail(std::int64_t warps) const;
  std::optional<Cpi> step_cpi(const SamplingUnit& w) const;
  std::optional<SamplingUnit> steady_steps();
  std::optional<SamplingUnit> steady_waves() const;
  double warmed_part(const SamplingUnit& w, double times) const;
  void add_proof(const SamplingUnit& w);
  void forget_steps();
  std::int64_t wave_part() const;
  double bias_of(const SamplingUnit& w) const;
  void jump(const SamplingUnit& w, double times);
  void settle_writes(const Statistics& before);

  SamplerSpec spec_;
  Statistics& statistics_;
  std::int64_t checkpoint_steps_;  // steps between two checkpoints
  Checkpoints steps_, waves_;
  Cycle steps_begin_{};             // when the residents last changed, where blocks turn over their number
  std::optional<Cycle> changed_;    // since steps were looked at
  bool waves_alike_ = false;        // steps went on as before when blocks had ended
  std::vector<EndPart> end_parts_;  // empty where that is not known
  std::vector<Checkpoint>
      steps_alone_;  // the last steady sampling unit in which no block ended, and the end of its jump
  std::optional<std::int64_t> next_steps_;  // warp steps at which the next checkpoint is due
  std::int64_t wave_stride_ = 1;            // parts of a wave between two checkpoints
  std::int64_t next_blocks_;
  std::int64_t warps_ = 0, checkpoint_warps_ = 0;       // resident, now and when steps began to be looked at
  std::optional<std::pair<std::int64_t, Cpi>> proven_;  // of steps, for so many resident warps
  std::vector<std::pair<Checkpoint, Checkpoint>>
      proofs_;  // the sampling units that showed it: a jump goes on as all of them do
  Cycle skipped_{};
  std::int64_t skipped_blocks_ = 0, skipped_warp_steps_ = 0;
};

}  // namespace tilescope::sim
