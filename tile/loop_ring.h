// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rings around a group's loop: a block copies the tiles of the loop's next steps, of all its stages, while it computes
// one, and copies once before the loop what is the same in all steps (FlashAttention-2, Dao 2023: a block of queries
// stays, keys and values stream). Everything that stages of the loop pass to each other stays in registers, so that one
// barrier a step suffices: behind it the step's tiles are whole, and those of the step before are free. Where TMA loads
// all tiles, a producer warp does so, and each stage's tiles have mbarriers of their own (FlashAttention-3, Shah et al.
// 2024, section 3.1).

#include <string>

#include "tile/group.h"

namespace tilescope::tile {

// Steps of its loop whose tiles a block of the group holds at a time; 1 where it has no ring.
std::int64_t loop_stages_of(const RProgram& p, const GroupLayout& group);

// Why the stage at that place of the group cannot have its part of the ring as its program says; empty where it can.
// The layout is known but for offsets in the scratchpad.
std::string loop_ring_refusal(const RProgram& p, const GroupLayout& group, std::size_t place);

// Where a producer warp loads the group's tiles by TMA (transfer/tma.cc), why the stage is in the way: consumers meet
// at no barrier, for which the scratchpad has nothing but these tiles.
std::string tma_ring_refusal(const RProgram& p, const GroupLayout& group, std::size_t place);

}  // namespace tilescope::tile
