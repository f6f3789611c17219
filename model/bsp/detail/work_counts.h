// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a stage does on cores that exchange (energy/counts.h), in closed form from its schedule: blocks by their
// extents, exchanges by what all cores together bring. Bytes of a core's memory are those that instructions load, sums
// that a call adds to and leaves, and what exchanges take from it, once for all receivers, and bring.
//
// Ignores: the conversion of sums to results; a library's start of a call and of its blocks of coefficients.

#include <cstddef>
#include <span>

#include "arch/spec.h"
#include "energy/counts.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// Counts of one of several stages that run one after another, which takes so long without its launch.
energy::Counts work_counts(std::span<const tile::BspStage> stages, std::size_t number, const arch::ArchSpec& a,
                           const arch::ComputeSpec& instruction, double running_us);

}  // namespace tilescope::model::bsp
