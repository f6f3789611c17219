// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of a program on a machine of tiles that exchange, in closed form: every step's arithmetic on the busiest
// core, every exchange on the busiest port. It reads only the schedule, not the lowered program.

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/spec.h"
#include "base/units.h"
#include "model/common/estimate.h"
#include "tile/bsp/memory.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// Names of an estimate's terms. A chip with DRAM has one more term, named after the DRAM: the DRAM's time for the
// steps' exchanges, besides the time of their links.
inline constexpr std::string_view kCompute = "compute", kCall = "call", kExchange = "exchange", kSync = "sync",
                                  kReduce = "reduce", kArrange = "arrange", kStore = "store", kLaunch = "launch";

// How the traffic on a mesh's links is found: counted link by link, on meshes of few cores; or in closed form, as on
// meshes of many cores, for searches over very many programs.
enum class Links : std::uint8_t { kCounted, kClosedForm };
// Whether kCounted counts the chip's links; else the closed form applies.
bool counts_links(const arch::ArchSpec& a);

// The estimate of stages that run one after another.
Estimate estimate(std::span<const tile::BspStage> stages, const arch::ArchSpec& a, Links links = Links::kCounted);

// The total of the estimate in microseconds, for one stage that runs alone; for callers that evaluate many programs.
double total_us(const tile::BspStage& s, const arch::ArchSpec& a, Links links = Links::kCounted);

// Cycles that one core takes for one call of the arithmetic of a block; `overhead` is the part that is not arithmetic:
// starting the call, and blocks of coefficients. The formula is that of poplibs (PerformanceEstimation.hpp) and T10:
// call + blocks of coefficients x (fixed + loading + rows). `inputs` says where the inputs lie in a core's banks;
// without it every load runs at the rate of the core's path.
struct VertexCycles {
  double all = 0, overhead = 0;
};
VertexCycles vertex_cycles(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                           const arch::ArchSpec& a, std::span<const tile::AddressRange> inputs = {});

// What one core does in a call, without starting it and its blocks of coefficients: slots in which threads issue,
// multiply-adds or lanes, cycles of the pipe that computes and of the paths to the core's memory, bytes of this memory.
// vertex_work leaves the block's sums out: they stay in the unit or in registers during a call.
struct VertexWork {
  double instructions = 0, lanes = 0, arithmetic = 0, paths = 0;
  double read = 0, written = 0;
};
VertexWork vertex_work(const tile::TileSpace& space, const tile::Extents& block, const arch::ComputeSpec& c,
                       const arch::ArchSpec& a);
// The same of adding up sums.
VertexWork addition_work(std::int64_t sums, std::int64_t parts, base::Dtype dtype, const arch::ComputeSpec& c,
                         const arch::ArchSpec& a);

// Cycles that one core takes to add up `sums` sums of `parts` parts each.
double addition_cycles(std::int64_t sums, std::int64_t parts, base::Dtype dtype, const arch::ComputeSpec& c,
                       const arch::ArchSpec& a);

}  // namespace tilescope::model::bsp
