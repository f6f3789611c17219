// SPDX-License-Identifier: Apache-2.0
#pragma once
// Restrictions on what construction may build.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "tile/bsp/dataflow.h"

namespace tilescope::construct {

// How stages may become one: not at all, elementwise ones in the bodies of those that read them (expr/rewrite.h), or
// also in one kernel, with tensors that stay in the core (fuse.h).
enum class Fuse : std::uint8_t { kNone, kInline, kAll };

// Where the inputs of a program lie before it runs, and its results afterwards: in the cores' memories or in the DRAM.
enum class TensorLocation : std::uint8_t { kCores, kDram };

// What of the programs is given, so that the rest is constructed for it: a sweep asks what padding is worth, or what a
// chip does to one tile.
struct Restrictions {
  bool pads = true;            // cached rows may be padded or rotated
  bool direct_stores = false;  // results leave from registers alone, not through the scratchpad
  Fuse fuse = Fuse::kAll;
  bool inputs_prearranged = false;  // inputs lie where the programs want them, on chips whose cores exchange
  std::optional<tile::Dataflow> dataflow = {};         // the only one that inputs may have on a BSP machine
  std::optional<TensorLocation> tensor_location = {};  // on a BSP machine; in the DRAM, if it has one, where absent
  // Why one of the chip's matrix instructions may not multiply (lower/lower.h), empty where it may; all may where
  // nothing says so.
  std::string (*lowering_refusal)(const arch::ComputeSpec& instruction, const arch::ArchSpec& a) = nullptr;
  std::string instruction = {};          // the only one of them that may, by name; any where empty
  std::vector<std::int64_t> block = {};  // extents of the block tile along the spatial axes; free where empty
};

}  // namespace tilescope::construct
