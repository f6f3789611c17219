// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of neighbouring stages as one kernel each: Welder's SubGraphTiling (OSDI'23, section 4.2).

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "construct/detail/chains.h"
#include "construct/fuse.h"
#include "model/simt/cached_costs.h"

namespace tilescope::construct {

// What the runs of an expression share: its stages' spaces, what was counted of programs over them, and, for runs that
// ask the same of a stage, the best schedule by stage and request, or nothing.
struct GroupMemory {
  GroupMemory(const expr::Expression& e, const arch::ArchSpec& a, const Restrictions& restrictions);

  const Restrictions& given;

  std::vector<SpacePtr> spaces;
  std::vector<std::vector<tile::MicroKernel>> matrix;  // instructions that may multiply a stage
  model::CachedCosts known;
  std::map<std::vector<std::int64_t>, std::optional<tile::StageProgram>> schedules;
};

// Whether what every stage of first .. last but the last one writes is read, and inside the run alone.
bool stays_inside(const expr::Expression& e, std::size_t first, std::size_t last);

// The fastest kernel of the stages first .. last that the search finds, results of products in registers or in the
// scratchpad: threads that are few share reductions rather than hold results for epilogues.
std::optional<FusedKernel> best_of_group(const expr::Expression& e, std::size_t first, std::size_t last,
                                         const model::Machine& machine, GroupMemory& memory);

// The faster one, where there are two.
std::optional<FusedKernel> faster(std::optional<FusedKernel> x, std::optional<FusedKernel> y);

}  // namespace tilescope::construct
