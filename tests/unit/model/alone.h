// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages that are kernels by themselves, and parts of their estimates.

#include <limits>

#include "model/simt/counts.h"
#include "model/simt/detail/block_work.h"
#include "model/simt/detail/flows.h"
#include "model/simt/detail/occupancy.h"
#include "model/simt/detail/traffic.h"
#include "tests/support/build.h"
#include "tile/program.h"
#include "tile/space.h"

namespace tilescope::model {

// As a bound: none.
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A program with the defaults of make_stage_program and accesses of up to 16 B.
inline tile::StageProgram program(const char* op, const char* sizes,
                                  const base::FixedVector<tile::AxisMapping, tile::kMaxAxes>& mapping,
                                  const tile::Extents& step) {
  const expr::Expression e = tests::expression(op, sizes);
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), mapping, step, {16});
}

// The counts with what they lie in.
struct OwnCounts {
  OwnCounts(const tile::StageProgram& p, const Geometry& g) : counts(count(p, alone(p, g.engines), g, storage)) {}
  OwnCounts(const OwnCounts&) = delete;
  OwnCounts& operator=(const OwnCounts&) = delete;

  CountsStorage storage;
  Counts counts;
};

inline Occupancy occupancy_of(const tile::StageProgram& p, const Machine& m) {
  return occupancy_of(needs_of(OwnCounts(p, m).counts), m);
}

inline Traffic traffic_of(const tile::StageProgram& p, const Machine& m, std::int64_t per_core) {
  return traffic_of(OwnCounts(p, m).counts, m, per_core);
}

inline BlockWork work_of_block(const tile::StageProgram& p, const Machine& m, const Arithmetic& arithmetic,
                               const Occupancy& occupancy, const Traffic& traffic) {
  return work_of_block(OwnCounts(p, m).counts, m, arithmetic, occupancy, traffic);
}

}  // namespace tilescope::model
