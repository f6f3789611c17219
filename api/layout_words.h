// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tiles and the layout of a stage's program, for tables and for the heads of emitted texts.

#include <cstddef>
#include <string>

#include "tile/program.h"

namespace tilescope::api {

// "128x256", of the first `count` extents.
std::string joined(const tile::Extents& extents, std::size_t count);

// "m x n x k".
std::string axis_names(const tile::TileSpace& space);

// What of a layout differs from the plain one, in the words of the program's document: "wgmma.bf16 num_stages 2"; "-"
// where nothing does.
std::string layout_of(const tile::StageProgram& p);

}  // namespace tilescope::api
