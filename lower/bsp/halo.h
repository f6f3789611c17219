// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the elements of a prearranged input lie before the first exchange. Cores whose windows are the same each have
// a copy of their own. Where the windows of neighbouring cores overlap, every element lies on one of them, and the
// others receive it in the first exchange: the halo of a stencil or a convolution.
//
// Windows overlap along a dimension that one spatial axis moves, which several cores have parts of and which moves no
// other dimension, by less than a window's length. Of other dimensions, and of slices that pass round, every core has
// its window.

#include <cstdint>
#include <functional>

#include "lower/bsp/places.h"

namespace tilescope::lower::bsp {

// The elements of its box that a core has before the first exchange: half of what it shares with each neighbour.
Box prearranged_box(const Stage& stage, const Buffer& buffer, std::int64_t core);

// Calls `visit` for each part of a core's box that lies on another core, with that core.
void for_each_halo(const Stage& stage, const Buffer& buffer, std::int64_t core,
                   const std::function<void(std::int64_t from, const Box& box)>& visit);

}  // namespace tilescope::lower::bsp
