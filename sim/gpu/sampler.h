#pragma once
// When a simulation may leave something out, and what that something would have cost. Two steady states are looked for,
// each proven by two disjoint windows that agree in time and traffic: steps within the resident blocks, and waves of
// blocks. Windows that disagree grow: steps have rhythms of their own (a kernel's taps, rows of memory). What is left
// out is jumped over, so that the addresses which follow are real; time and amounts go on at the windows' rate.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/memory/calendar.h"
#include "sim/tally.h"

namespace tilescope::sim {

struct SamplerSpec {
  bool enabled = false;
  std::int64_t blocks = 1;    // of the kernel
  std::int64_t resident = 1;  // at most, on all cores
  double tolerance = 0;       // by which two windows may differ, of the larger
};

// Of one core: its resident blocks and warps, steps that warps have begun there so far, and the least number of steps
// that any of them has before it.
struct StepProgress {
  std::int64_t blocks = 0, warps = 0;
  std::int64_t begun = 0;
  std::int64_t least_remaining = 0;
  bool all_inside = true;  // every warp is in the loop over steps
};

class Sampler {
 public:
  Sampler(const SamplerSpec& spec, Tally& tally);

  // Blocks started or ended: the steps that windows count are others now.
  void residents_changed() {
    step_marks_.clear();
    next_steps_.reset();
  }
  // Time that was jumped over.
  Cycle skipped() const { return skipped_; }
  std::int64_t skipped_blocks() const { return skipped_blocks_; }
  std::int64_t skipped_warp_steps() const { return skipped_warp_steps_; }

  // Whether a window of steps is full; asked at every instant. `warps` are resident.
  bool steps_due(std::int64_t warps);
  // How many steps the warps of every core leave out, where two windows agree; empty where they do not. Cores with as
  // many blocks advance alike, others at their own rate, as they would have.
  std::vector<std::int64_t> jump_steps(Cycle now, const std::vector<StepProgress>& cores);

  // The same for waves: blocks that are left out of those not yet started; 0 where there is no steady state yet.
  std::int64_t jump_waves(Cycle now, std::int64_t not_started);

 private:
  struct Mark {
    Cycle at = 0;  // with what was skipped
    Tally tally;
    std::vector<StepProgress> cores;  // of step marks
  };
  using Marks = std::vector<Mark>;

  // The two windows that agree: everything between their marks.
  struct Windows {
    const Mark *from = nullptr, *to = nullptr;

    Cycle cycles() const { return to->at - from->at; }
  };

  void mark(Marks& marks, Cycle now, std::vector<StepProgress> cores) const;
  std::optional<Windows> agreeing(const Marks& marks, std::span<const std::size_t> widths) const;
  std::int64_t wave_part() const;
  bool lasts_as_blocks_do(const Windows& w) const;
  bool agree(const Mark& a, const Mark& b, const Mark& c) const;
  void jump(const Windows& w, double times, double dram_times);
  // The part of the DRAM's traffic that is left out where the slowest cores jump `slowest` steps and the fastest
  // `fastest`.
  static double left_out_of_dram(const Windows& w, double slowest, double fastest);
  // Steps of one warp per cycle, by core.
  static std::vector<double> step_rates(const Windows& w);

  SamplerSpec spec_;
  Tally& tally_;
  Marks step_marks_, wave_marks_;
  std::optional<std::int64_t> next_steps_;  // warp steps at which the next window ends
  std::int64_t next_blocks_ = 0;
  Cycle skipped_ = 0;
  std::int64_t skipped_blocks_ = 0, skipped_warp_steps_ = 0;
};

}  // namespace tilescope::sim
