// SPDX-License-Identifier: Apache-2.0
#pragma once
// The halo of a prearranged input that stays: elements that the windows of neighbouring cores share lie on one of them,
// half of them on each, and are exchanged before the first step. Windows overlap along dimensions that one spatial axis
// alone moves, by less than their length. Copies of cores whose windows are the same cost nothing.

#include <cstdint>
#include <vector>

#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// What a core receives from one other core.
struct HaloPart {
  std::int64_t from = 0;
  std::int64_t bytes = 0;
  std::int64_t runs = 1;  // of neighbouring elements in the receiver's buffer
};

// Of an input, what a core receives from its neighbours.
std::vector<HaloPart> halo_parts(const tile::BspStage& s, std::size_t input, std::int64_t core);
// A core that receives as much as any other: one with neighbours on all sides, where there is one.
std::int64_t core_of_most_halo(const tile::BspStage& s);
// Bytes that all cores together receive.
double halo_bytes(const tile::BspStage& s, std::size_t input);

}  // namespace tilescope::model::bsp
