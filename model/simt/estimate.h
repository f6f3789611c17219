// SPDX-License-Identifier: Apache-2.0
#pragma once
// The micro performance model of GPUs: a closed-form prediction of a program's time on a chip, every term kept and
// named: issue, arithmetic, every level, latency (a core's blocks wait and none of its resources works), launch. After
// ROLLER (OSDI'22, section 3.4: a program takes as many waves as its blocks need, each as long as its slowest stage),
// with the terms that ROLLER leaves out: instruction issue, bank conflicts and sectors of the real access pattern,
// occupancy, exposed latency, reuse in the device cache, within a kernel and from one to the next.
//
// Ignores: queueing below saturation, translation misses beyond how many a chip fetches at a time, instruction cache,
// clock changes under load, imbalance between slices of a cache, and any overlap between one kernel of a program and
// the next, or one stage of a block and the next.

#include <optional>
#include <span>
#include <vector>

#include "model/common/estimate.h"
#include "model/simt/cached_costs.h"
#include "model/simt/counts.h"
#include "model/simt/kernel_stage.h"
#include "model/simt/machine.h"
#include "tile/group.h"
#include "tile/program.h"

namespace tilescope::model {

// The estimate of a stage from its counts, on a machine of the geometry that they were made for. nullopt where the chip
// has no instruction for the stage's dtype.
std::optional<Estimate> estimate(const Counts& counts, const Machine& m);

// Only `total_us` of that estimate, with the compiler limited to `registers` registers (0: as the program says);
// infinite where the chip has no instruction for the stage's dtype. nullopt, at less cost, where the busiest resource
// alone takes at least `limit_us`.
std::optional<double> time_unless_bound(double limit_us, const Counts& counts, std::int64_t registers,
                                        const Machine& m);

// Counts a stage that is a kernel by itself, and estimates it. The only state is in `known`, which may be null and is
// made for the machine's chip: without it the estimate is the same and takes longer.
std::optional<Estimate> estimate_stage(const tile::StageProgram& p, const Machine& m, CachedCosts* known = nullptr);

// The same for one stage of a kernel of several stages, as if it were alone in the kernel.
std::optional<Estimate> estimate_stage_of(const tile::StageProgram& p, const KernelStage& kernel, const Machine& m,
                                          CachedCosts* known = nullptr);

// The estimate of a group of more than one stage, which run one after another in every block (tile/group.h).
std::optional<Estimate> estimate_group(const tile::RProgram& p, const tile::GroupLayout& group, const Machine& m,
                                       CachedCosts* known = nullptr);

// The estimate of a program, whose kernels run one after another. A kernel does not fetch what earlier kernels have
// left in the device's caches (detail/warm_cache.h). nullopt also where stages that are to be one kernel cannot be
// (tile::layout_of).
std::optional<Estimate> estimate(const tile::RProgram& p, const Machine& m);

// The estimates of programs that run one after another: kernels also find what kernels of earlier programs have left.
// Tensors of one name are one array.
std::vector<std::optional<Estimate>> estimate_sequence(std::span<const tile::RProgram> programs, const Machine& m);

}  // namespace tilescope::model
