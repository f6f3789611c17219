// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the model for a stage that is a kernel by itself.

#include "model/simt/detail/block_work.h"
#include "tile/staging.h"

namespace tilescope::model {

inline Occupancy occupancy_of(const tile::StageProgram& p, const Machine& m) {
  return occupancy_of(p, m, tile::staging_of(p, *m.arch).bytes);
}

inline Traffic traffic_of(const tile::StageProgram& p, const Machine& m, std::int64_t per_core) {
  return traffic_of(p, m, alone(p, *m.arch), per_core);
}

inline BlockWork work_of_block(const tile::StageProgram& p, const Machine& m, const Arithmetic& arithmetic,
                               const Occupancy& occupancy, const Traffic& traffic) {
  return work_of_block(p, m, alone(p, *m.arch), arithmetic, occupancy, traffic);
}

}  // namespace tilescope::model
