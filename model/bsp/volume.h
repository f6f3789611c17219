// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes that a program moves and the iterations that it computes on a machine of tiles that exchange, in closed
// form and exactly: the sums over cores and steps factor by the tensors' dimensions.

#include <cstdint>
#include <span>

#include "arch/spec.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

struct Volume {
  double delivered_bytes = 0;  // that exchanges write to buffers, including those from a core's own memory
  double from_dram = 0;        // the part of delivered_bytes that comes from DRAM
  double to_dram = 0;          // bytes of results stored in DRAM
  double points = 0;           // iterations computed
};

// The volume of stages that run one after another.
Volume volume_of(std::span<const tile::BspStage> stages, const arch::ArchSpec& a);

}  // namespace tilescope::model::bsp
