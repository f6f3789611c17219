// SPDX-License-Identifier: Apache-2.0
#pragma once
// Restrictions on what construction may build.

#include <cstdint>
#include <string>
#include <vector>

#include "arch/spec.h"

namespace tilescope::construct {

// How stages may become one: not at all, elementwise ones in the bodies of those that read them (expr/rewrite.h), or
// also in one kernel, with tensors that stay in the core (fuse.h).
enum class Fuse : std::uint8_t { kNone, kInline, kAll };

// What of the programs is given, so that the rest is constructed for it: a sweep asks what padding is worth, or what a
// chip does to one tile.
struct Restrictions {
  bool pads = true;            // cached rows may be padded or rotated
  bool direct_stores = false;  // results leave from registers alone, not through the scratchpad
  Fuse fuse = Fuse::kAll;
  bool inputs_prearranged = false;   // inputs lie where the programs want them, on chips whose cores exchange
  std::string dataflow = {};         // hold, fetch or rotate: how inputs come to cores that exchange; any where empty
  std::string tensor_location = {};  // cores or dram: where inputs and results of such programs are at home; in the
                                     // DRAM, where the chip has one, where empty
  // Why one of the chip's matrix instructions may not multiply (lower/lower.h), empty where it may; all may where
  // nothing says so.
  std::string (*lowering_refusal)(const arch::ComputeSpec& instruction, const arch::ArchSpec& a) = nullptr;
  std::string instruction = {};          // the only one of them that may, by name; any where empty
  std::vector<std::int64_t> block = {};  // extents of the block tile along the spatial axes; free where empty
};

}  // namespace tilescope::construct
