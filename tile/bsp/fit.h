// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a program for a machine of tiles that exchange is sound and fits a chip.

#include <span>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/bsp/schedule.h"

namespace tilescope::tile {

// Whether a stage is a sum of products of two tensors, which matrix instructions compute.
bool is_product(const TileSpace& space);

// Why an instruction does not compute a stage, as dtypes_refusal says it: it multiplies other dtypes, but for single
// elements of the sums' dtype, to which values are widened; or it multiplies matrices, and the stage is no product.
// Empty where it does.
std::string instruction_refusal(const arch::ComputeSpec& instruction, const TileSpace& space);

// Whether the grid has no more cores than the chip, rings are whole parts of the cores that share an operand, and the
// instruction computes the stage; an error for each thing that is not so.
bool check_schedule(const BspStage& s, const arch::ArchSpec& a, base::Diagnostics& diags, base::Position at = {});

// Whether every core's memory holds what the stages need; else an error that lists a core's tensors in bytes, what is
// too much, and the longest step that would fit.
bool check_memory(std::span<const BspStage> stages, const arch::ArchSpec& a, base::Diagnostics& diags,
                  base::Position at = {});

// The same without words.
bool fits_memory(std::span<const BspStage> stages, const arch::ArchSpec& a);

// Whether an operand's slices along a tile axis have no element in common, so that cores can bring one each and send it
// to the others.
bool can_gather_along(const Operand& o, int axis);

// Bytes of one core's memory that programs may use.
base::Bytes usable_memory(const arch::ArchSpec& a);

}  // namespace tilescope::tile
