// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the stages of a kernel cost its cores and the device, and how long the kernel takes. Stages run one after the
// other in every block.

#include <array>
#include <boost/container/small_vector.hpp>
#include <memory>
#include <optional>
#include <span>

#include "base/fixed_vector.h"
#include "model/common/detail/parts.h"
#include "model/simt/counts.h"
#include "model/simt/detail/block_work.h"
#include "model/simt/detail/core_time.h"
#include "model/simt/detail/occupancy.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/detail/warm_cache.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// One stage of a kernel. What it moves and does lies where the caller keeps it.
struct StageCosts {
  const Counts* counts = nullptr;
  Occupancy occupancy;
  const Traffic* traffic = nullptr;
  const BlockWork* work = nullptr;
  // The time of the stage's blocks, and the counts that it is of. Nothing of stages of a ring behind its first one,
  // whose time is that of a step of the ring.
  std::optional<CoreTime> core;
  const Counts* timed = nullptr;

  const tile::TileSpace& space() const { return *counts->program->space; }
  // Of a block in the mean, and how often results leave it.
  double steps() const { return counts->mean_all_steps(); }
  double repeats() const { return counts->mean_repeats(); }
};
// Where that may lie, and the chip's instruction for the stage.
struct StageStorage {
  Arithmetic arithmetic;
  Traffic traffic;
  BlockWork work;
  std::optional<Counts> of_ring;  // of the first stage of a ring: of all its stages
};

// How many blocks of a stage a core has, and the instruction that it computes with. False where the chip has none.
// `stated`: registers that its compiler is held to, in place of what its counts say; as they say where 0.
bool find_occupancy(const Counts& counts, const Machine& m, std::int64_t stated, StageStorage& storage,
                    StageCosts& out);

// What the stages of a kernel cost. False, and costs are meaningless, where the chip has no instruction for one of
// them. `stated`: registers that a stage's compiler is held to, in place of what its counts say; as they say where 0.
// `warm`: what the kernels before have left in the device's caches, and what this one leaves then; may be null.
bool find_costs(std::span<const Counts> counts, const Machine& m, std::int64_t stated, WarmCache* warm,
                std::span<StageStorage> storages, std::span<StageCosts> out);

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

// The waves in which a kernel's blocks may come, by their places in a list: the first one, those between, the last one.
// Of several the quickest counts.
struct Waves {
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  Range first, last;
  std::size_t middle = 0;
  double count = 0;
};
struct KernelWaves {
  boost::container::small_vector<Wave, 24> list;
  base::FixedVector<Waves, 3> residencies;
  std::optional<std::size_t> alone;  // a block on each core, where blocks have different numbers of steps
};

// A kernel at a machine's rates, from the costs of its stages, which outlive it.
class KernelTime {
 public:
  KernelTime(std::span<const StageCosts> stages, const Machine& m);

  std::span<const StageCosts> stages() const { return stages_; }
  std::int64_t blocks() const { return blocks_; }
  const Occupancy& occupancy() const { return occupancy_; }
  const std::optional<Combining>& combining() const { return combining_; }

  // No less than that: the busiest resource, and launches.
  double least_us() const;

  // Its waves, and what they go through in each stage.
  KernelWaves waves() const;
  using StageRounds = boost::container::small_vector<Rounds, 1, std::allocator<Rounds>>;  // aligned, as lanes are
  StageRounds rounds(const KernelWaves& waves) const;
  // Asks what they take, by stage. The kernel is asked for its time once the networks are solved.
  using Questions = boost::container::small_vector<CoreTime::Questions, 1, std::allocator<CoreTime::Questions>>;
  void ask(const KernelWaves& waves, const StageRounds& rounds, Networks& networks, Questions& out) const;
  // Microseconds from its first instruction to its last one, from the answers.
  double elapsed_us(const KernelWaves& waves, const StageRounds& rounds, const Questions& questions,
                    const Networks& networks) const;

  // The kernel that elapses so long, and the second one where its reduction is split.
  Part first(double elapsed_us) const;
  std::optional<Part> second() const;
  // Of both, microseconds.
  double total_us(double elapsed_us) const { return with_second(model::total_us(first(elapsed_us))); }

 private:
  double with_second(double first_us) const;
  double uneven_cycles(const Waves& waves, const KernelWaves& all, std::span<const double> cycles,
                       double longest) const;

  const Machine& m_;
  std::span<const StageCosts> stages_;
  std::int64_t blocks_;
  std::int64_t launched_;  // fewer where persistent blocks take several tiles, which blocks_ counts, in turn
  Occupancy occupancy_;
  Part first_;  // but for what elapses
  std::optional<Combining> combining_;
};

// Microseconds that a kernel elapses, its networks solved by themselves.
double elapsed_us(const KernelTime& kernel);

}  // namespace tilescope::model
