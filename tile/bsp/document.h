// SPDX-License-Identifier: Apache-2.0
#pragma once
// A node of a program document for a machine of tiles that exchange (docs/tiles.md).

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "base/fields.h"
#include "tile/bsp/schedule.h"

namespace tilescope::tile {

// Whether a node is for such a machine, that is, has a grid of cores.
bool is_bsp_node(const base::Value& node);

// Reads the node's keys other than those of its space, and checks the schedule against the chip. Returns nullopt after
// an error.
std::optional<BspStage> read_bsp_stage(const base::Value& node, std::shared_ptr<const TileSpace> space,
                                       const arch::ArchSpec& arch, base::Diagnostics& diags,
                                       const std::function<void(base::Fields&)>& further_keys);

// The values of these keys, as entries to place after those of the space.
base::Map bsp_keys(const BspStage& s);

// The schedule in one line of a table: "A held, B rotated k/8".
std::string in_words(const BspStage& s);

}  // namespace tilescope::tile
