// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the stages of a kernel cost its cores and the device, and how long the kernel takes. Stages run one after the
// other in every block.

#include <array>
#include <optional>
#include <span>

#include "model/common/detail/overlap.h"
#include "model/simt/counts.h"
#include "model/simt/detail/block_work.h"
#include "model/simt/detail/core_time.h"
#include "model/simt/detail/occupancy.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/detail/warm_cache.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// One stage of a kernel.
struct StageCosts {
  const Counts* counts = nullptr;
  Arithmetic arithmetic;
  Occupancy occupancy;
  Traffic traffic;
  BlockWork work;
  std::optional<CoreTime> core;

  const tile::TileSpace& space() const { return *counts->program->space; }
  // Of a block, and how often results leave it.
  double steps() const { return static_cast<double>(counts->all_steps()); }
  double repeats() const { return static_cast<double>(counts->repeats); }
};

template <class Of>
double sum(std::span<const StageCosts> stages, const Of& of) {
  double all = 0;
  for (const StageCosts& s : stages) all += of(s);
  return all;
}

// The second kernel of a split reduction, one thread an element of the output and a warp a partition in a block, which
// adds up the parts in their order, each after the one before has come: partial results come from a cache of the device
// as far as they fit it, of the first one as far as they fit the part of it that their reader's own partition is.
struct Combining {
  std::array<double, arch::kMaxDeviceCaches> cache_us{};
  double dram_us = 0, latency_us = 0, blocks = 0;
  double dram_read_bytes = 0, dram_written_bytes = 0;
};

// A kernel at a machine's rates. `stages` is room for the costs of the kernel's stages, so that nothing is allocated
// for a kernel of one stage; it outlives the kernel.
class KernelTime {
 public:
  // `stated`: registers that a stage's compiler is held to, in place of what its counts say; as they say where 0.
  // `warm`: what the kernels before have left in the device's caches, and what this one leaves then; may be null.
  KernelTime(std::span<const Counts> counts, const Machine& m, std::span<StageCosts> stages, std::int64_t stated = 0,
             WarmCache* warm = nullptr);

  // Whether the chip has an instruction for every stage; all else is meaningless where it lacks one.
  bool possible() const { return possible_; }
  std::span<const StageCosts> stages() const { return stages_; }
  std::int64_t blocks() const { return blocks_; }
  const Occupancy& occupancy() const { return occupancy_; }
  const std::optional<Combining>& combining() const { return combining_; }

  // No less than that: the busiest resource, and launches.
  double least_us() const;
  // Of both kernels, microseconds.
  double total_us() const;
  // The kernel, and the second one where its reduction is split.
  Part first() const;
  std::optional<Part> second() const;

 private:
  double elapsed_us() const;
  double with_second(double first_us) const;

  const Machine& m_;
  std::span<StageCosts> stages_;
  std::int64_t blocks_ = 1, resident_ = 1;
  bool possible_ = false;
  Occupancy occupancy_;
  Part first_;  // but for what elapses
  std::optional<Combining> combining_;
};

}  // namespace tilescope::model
