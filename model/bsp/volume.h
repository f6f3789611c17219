// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program moves and computes on a machine of tiles that exchange, in closed form and exactly: the sums over
// cores and steps factor by the tensors' dimensions.

#include <cstdint>
#include <span>

#include "arch/spec.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

struct Volume {
  double delivered_bytes = 0;  // that exchanges fill buffers with, those that a core has itself among them
  double from_dram = 0;        // of these bytes, those that come from the DRAM
  double to_dram = 0;          // bytes of results stored there
  double points = 0;           // iterations computed
};

// Of stages that run one after another.
Volume volume_of(std::span<const tile::BspStage> stages, const arch::ArchSpec& a);

}  // namespace tilescope::model::bsp
