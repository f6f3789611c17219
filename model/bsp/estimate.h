// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of a program on a machine of tiles that exchange, in closed form: every step's arithmetic on the busiest
// core, every exchange on the busiest port. It reads the schedule, and none of what lowering makes of it.

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/spec.h"
#include "base/units.h"
#include "model/common/estimate.h"
#include "tile/bsp/memory.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// Terms of an estimate; of a chip with a DRAM also one of its name: what it takes for the steps' exchanges, beside
// their links.
inline constexpr std::string_view kCompute = "compute", kCall = "call", kExchange = "exchange", kSync = "sync",
                                  kReduce = "reduce", kArrange = "arrange", kStore = "store", kLaunch = "launch";

// What the links of a mesh of few cores carry: counted one by one, or in closed form, as those of many cores, by a
// search that looks at very many programs.
enum class Links : std::uint8_t { kCounted, kClosedForm };
// Whether a chip's links are counted.
bool counts_links(const arch::ArchSpec& a);

// Of stages that run one after another.
Estimate estimate(std::span<const tile::BspStage> stages, const arch::ArchSpec& a, Links links = Links::kCounted);

// An estimate's total in microseconds, for those who judge many programs: of one stage that runs alone.
double total_us(const tile::BspStage& s, const arch::ArchSpec& a, Links links = Links::kCounted);

// Cycles that one core's call of the arithmetic of a block takes, and those of them that are no arithmetic: starting
// the call, blocks of coefficients. The form is poplibs' (PerformanceEstimation.hpp) and T10's: call + blocks of
// coefficients x (fixed + loading + rows). `inputs` says where they lie in a core's banks; without it every load is as
// fast as the core's path.
struct VertexCycles {
  double all = 0, overhead = 0;
};
VertexCycles vertex_cycles(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                           const arch::ArchSpec& a, std::span<const tile::AddressRange> inputs = {});

// Cycles in which one core adds up so many sums, each of so many parts.
double addition_cycles(std::int64_t sums, std::int64_t parts, base::Dtype dtype, const arch::ComputeSpec& c,
                       const arch::ArchSpec& a);

}  // namespace tilescope::model::bsp
