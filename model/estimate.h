#pragma once
// The micro performance model: a closed-form prediction of a program's time on a chip, every term kept and named. After
// ROLLER (OSDI'22, section 3.4: a program takes as many waves as its blocks need, each as long as its slowest stage),
// with the terms that ROLLER leaves out: instruction issue, bank conflicts and sectors of the real access pattern,
// occupancy, exposed latency, reuse in the device cache.
//
// Ignores: queueing below saturation, translation misses, instruction cache, clock changes under load, imbalance
// between slices of a cache, and any overlap between one stage of a program and the next.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/machine.h"
#include "model/occupancy.h"
#include "model/staged_costs.h"
#include "tile/program.h"

namespace tilescope::model {

// What a time is made of. The bottleneck is the largest. The device's caches have a term each, from the one that cores
// reach first on; terms of levels that a chip lacks are 0.
enum class Term : std::uint8_t {
  kIssue,
  kArithmetic,
  kScratchpad,
  kCoreCache,
  kDeviceCache,
  kDram = kDeviceCache + arch::kMostDeviceCaches,
  kLatency,
  kLaunch
};
inline constexpr std::size_t kTerms = static_cast<std::size_t>(Term::kLaunch) + 1;
constexpr Term term_of_device_cache(std::size_t number) {
  return static_cast<Term>(static_cast<std::size_t>(Term::kDeviceCache) + number);
}
// A level's term is called as the chip calls the level; empty where it has no such level.
std::string_view name_of(Term t, const arch::Hierarchy& chip);

// What one level moves in a stage.
struct LevelUse {
  double bytes = 0;
  double transactions = 0;    // scratchpad: passes; caches and DRAM: sectors
  double conflict_ratio = 1;  // scratchpad: passes over the least that the bytes need; else bytes moved over bytes used
  double time_us = 0;         // at this level's rate alone
};

// Of a stage; of a program the sums of its stages' terms, levels and times, and of the rest what its longest stage has.
struct Estimate {
  std::int64_t blocks = 0;
  double waves = 0;
  Occupancy occupancy;
  // Time that each resource alone would take, all blocks and waves; kLatency is the time in which a core's blocks wait
  // and none of its resources works. Device caches, DRAM and the core's own terms overlap; kLaunch does not.
  std::array<double, kTerms> term_us{};
  LevelUse scratchpad, core_cache, dram;
  std::array<LevelUse, arch::kMostDeviceCaches> device_caches{};  // from the one that cores reach first on
  double total_us = 0;
  Term bottleneck{};

  double term(Term t) const { return term_us[static_cast<std::size_t>(t)]; }
};

// Nothing where the chip has no instruction for the stage's dtype. No state but what the caller may have it remember in
// `known`, made for the machine's chip: the estimate is the same without, and takes longer.
std::optional<Estimate> estimate_stage(const tile::StageProgram& p, const Machine& m, StagedCosts* known = nullptr);

// Stages run one after another.
std::optional<Estimate> estimate(const tile::RProgram& p, const Machine& m);

}  // namespace tilescope::model
