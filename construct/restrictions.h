// SPDX-License-Identifier: Apache-2.0
#pragma once
// Restrictions on what construction may build.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/choices.h"

namespace tilescope::construct {

// Choices that the caller fixes; construction makes the others. A sweep can thus show the gain of padding, or the
// effect of a chip on one tile.
struct Restrictions {
  bool pads = true;            // cached rows may be padded or rotated
  bool direct_stores = false;  // results are stored from registers alone, not through the scratchpad
  base::Fuse fuse = base::Fuse::kAll;
  bool inputs_prearranged = false;              // class bsp: inputs are already laid out as the programs need them
  std::optional<base::Dataflow> dataflow = {};  // class bsp: of all inputs; any if absent
  std::optional<base::TensorLocation> tensor_location = {};  // class bsp: if absent, in the DRAM if the chip has one
  // Returns why a matrix instruction of the chip may not multiply (lower/lower.h); empty where it may. Null: all may.
  std::string (*lowering_refusal)(const arch::ComputeSpec& instruction, const arch::ArchSpec& a) = nullptr;
  std::string instruction = {};          // name of the only matrix instruction that may multiply; empty: any may
  std::vector<std::int64_t> block = {};  // extents of the block tile along the spatial axes; free where empty
};

}  // namespace tilescope::construct
