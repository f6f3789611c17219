// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statistics that a simulation accumulates: plain amounts, so that a sampling unit is the difference of two and a jump
// adds a multiple.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "arch/hierarchy.h"
#include "arch/pipes.h"
#include "lower/counters.h"
#include "sim/common/report.h"

namespace tilescope::sim {

// Causes of the time of resident warps. kIssue is arithmetic and issue, kL1 the core's cache, kL2 and the values before
// kDram the caches of the device from the one that cores reach first, kDispatch the time from a block's end to the
// first instructions of its successor, kLaunch the launch of the kernel, kTail warps for which a core has no block.
enum class Stall : std::uint8_t {
  kIssue,
  kScratchpad,
  kBarrier,
  kL1,
  kL2,
  kDram = kL2 + arch::kMaxDeviceCaches,
  kDispatch,
  kLaunch,
  kTail
};
inline constexpr std::size_t kStalls = static_cast<std::size_t>(Stall::kTail) + 1;
constexpr Stall stall_of_device_cache(std::size_t number) {
  return static_cast<Stall>(static_cast<std::size_t>(Stall::kL2) + number);
}

// kDeviceCache is the cache of the device that cores reach first; the others follow it.
enum class LevelRole : std::uint8_t { kDram, kCoreCache, kScratchpad, kDeviceCache };
inline constexpr std::size_t kLevelRoles = static_cast<std::size_t>(LevelRole::kDeviceCache) + arch::kMaxDeviceCaches;
constexpr LevelRole role_of_device_cache(std::size_t number) {
  return static_cast<LevelRole>(static_cast<std::size_t>(LevelRole::kDeviceCache) + number);
}

struct Statistics {
  std::array<LevelStatistics, kLevelRoles> levels{};
  std::array<std::int64_t, kStalls> stalls{};  // warp-cycles
  lower::KernelCounters copies;
  std::int64_t instructions = 0;                           // that warps issue
  std::array<std::int64_t, arch::kMaxPipes> pipe_parts{};  // parts of cycles that partitions hold pipes (arithmetic.h)
  std::vector<std::int64_t> operations;                    // by entry of `compute` (energy/counts.h)
  std::int64_t dirtied_bytes = 0;  // bytes made dirty in the cache next to the DRAM, written back or not
  std::int64_t blocks = 0;         // finished
  std::int64_t block_cycles = 0;   // from their starts to their ends
  std::int64_t warp_steps = 0;     // iterations of the step loop that warps began

  LevelStatistics& level(LevelRole r) { return levels[static_cast<std::size_t>(r)]; }
  const LevelStatistics& level(LevelRole r) const { return levels[static_cast<std::size_t>(r)]; }
  std::int64_t& stall(Stall s) { return stalls[static_cast<std::size_t>(s)]; }
  std::int64_t stall(Stall s) const { return stalls[static_cast<std::size_t>(s)]; }
  bool operator==(const Statistics&) const = default;
};

// Visits every amount of the statistics in a fixed order.
template <class AnyStatistics, class Visit>
void visit_amounts(AnyStatistics& t, Visit visit) {
  for (auto& l : t.levels) {
    visit(l.requests);
    visit(l.transactions);
    visit(l.hits);
    visit(l.read_bytes);
    visit(l.written_bytes);
  }
  for (auto& s : t.stalls) visit(s);
  for (auto& c : t.copies)
    for (auto* a : {&c.global, &c.shared}) {
      visit(a->lane_accesses);
      visit(a->requests);
      visit(a->bytes);
      visit(a->sectors);
      visit(a->passes);
    }
  visit(t.instructions);
  for (auto& p : t.pipe_parts) visit(p);
  for (auto& o : t.operations) visit(o);
  visit(t.dirtied_bytes);
  visit(t.blocks);
  visit(t.block_cycles);
  visit(t.warp_steps);
}

// Adds `times` x the difference of `to` and `from` to the bytes, and `times` x `part` x the difference to the rest
// (requests, transactions, hits).
inline void extrapolate(LevelStatistics& t, const LevelStatistics& from, const LevelStatistics& to, double times,
                        double part) {
  const auto more = [](std::int64_t a, std::int64_t b, double n) {
    return std::llround(static_cast<double>(b - a) * n);
  };
  t.requests += more(from.requests, to.requests, times * part);
  t.transactions += more(from.transactions, to.transactions, times * part);
  t.hits += more(from.hits, to.hits, times * part);
  t.read_bytes += more(from.read_bytes, to.read_bytes, times);
  t.written_bytes += more(from.written_bytes, to.written_bytes, times);
}

// Adds `times` x the difference of `to` and `from` to every amount.
inline void extrapolate(Statistics& t, const Statistics& from, const Statistics& to, double times) {
  std::vector<std::int64_t> before, after;
  visit_amounts(from, [&](std::int64_t n) { before.push_back(n); });
  visit_amounts(to, [&](std::int64_t n) { after.push_back(n); });
  std::size_t i = 0;
  visit_amounts(t, [&](std::int64_t& n) {
    n += std::llround(static_cast<double>(after[i] - before[i]) * times);
    ++i;
  });
}

}  // namespace tilescope::sim
