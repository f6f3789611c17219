// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of an estimate, of a stage that is a kernel by itself.

#include "model/simt/counts.h"
#include "model/simt/detail/block_work.h"
#include "model/simt/detail/flows.h"
#include "model/simt/detail/occupancy.h"
#include "model/simt/detail/traffic.h"

namespace tilescope::model {

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
