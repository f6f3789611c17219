// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that a program for a machine of tiles that exchange is valid and fits a chip.

#include <span>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/bsp/schedule.h"

namespace tilescope::tile {

// Whether a stage is a sum of products of two tensors, which matrix instructions compute.
bool is_product(const TileSpace& space);

// Why an instruction does not compute a stage, in the form of dtypes_refusal; empty where it does. Either it multiplies
// other dtypes (except that a scalar unit of the accumulator's dtype computes any stage, whose values are widened), or
// it multiplies matrices and the stage is no product.
std::string instruction_refusal(const arch::ComputeSpec& instruction, const TileSpace& space);

// Why cores that exchange compute no program of the stage, in a sentence; empty where they may.
std::string exchange_refusal(const TileSpace& space);

// Checks that the grid has no more cores than the chip, that rings divide the cores that share an operand, and that the
// instruction computes the stage. Reports an error for each violation.
bool check_schedule(const BspStage& s, const arch::ArchSpec& a, base::Diagnostics& diags, base::Position at = {});

// Checks that every core's memory holds what the stages need. Else reports an error that lists a core's tensors in
// bytes, the excess, and the longest step that would fit. Checks the DRAM's capacity likewise.
bool check_memory(std::span<const BspStage> stages, const arch::ArchSpec& a, base::Diagnostics& diags,
                  base::Position at = {});

// The same without messages.
bool fits_memory(std::span<const BspStage> stages, const arch::ArchSpec& a);

// Whether an operand's slices along a tile axis are disjoint, so that each core can bring one slice and send it to the
// others.
bool can_gather_along(const Operand& o, int axis);

// Bytes of one core's memory that programs may use.
base::Bytes usable_memory(const arch::ArchSpec& a);

}  // namespace tilescope::tile
