// SPDX-License-Identifier: Apache-2.0
#pragma once
// Restrictions on what construction may build.

#include <cstdint>
#include <string>
#include <vector>

#include "arch/spec.h"

namespace tilescope::construct {

// How stages may be fused: not at all; elementwise stages inlined into the bodies of the stages that read them
// (expr/rewrite.h); or also several stages in one kernel, with tensors that stay in the core (fuse.h).
enum class Fuse : std::uint8_t { kNone, kInline, kAll };

// Choices that the caller fixes; construction makes the others. A sweep can thus show the gain of padding, or the
// effect of a chip on one tile.
struct Restrictions {
  bool pads = true;            // cached rows may be padded or rotated
  bool direct_stores = false;  // results are stored from registers alone, not through the scratchpad
  Fuse fuse = Fuse::kAll;
  bool inputs_prearranged = false;   // on chips whose cores exchange: inputs already lie where programs need them
  std::string dataflow = {};         // on such chips: stationary, fetch or shift, for all inputs; empty: any
  std::string tensor_location = {};  // on such chips: cores or dram, the home of inputs and results; empty: dram if any
  // Returns why a matrix instruction of the chip may not multiply (lower/lower.h); empty where it may. Null: all may.
  std::string (*lowering_refusal)(const arch::ComputeSpec& instruction, const arch::ArchSpec& a) = nullptr;
  std::string instruction = {};          // name of the only matrix instruction that may multiply; empty: any may
  std::vector<std::int64_t> block = {};  // extents of the block tile along the spatial axes; free where empty
};

}  // namespace tilescope::construct
