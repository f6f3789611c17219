// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads one node of a program document: the part that `--program` files and `--batch` lines share.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "base/fields.h"
#include "tile/program.h"

namespace tilescope::tile {

// Tile spaces by what determines them, so that the lines of a batch which share an operator parse it once. Not for
// several threads at a time.
class SpaceCache {
 public:
  // The space of a node's expr, sizes, shapes, dtype, dtypes, accumulate and of the names of its tile axes, or null
  // after an error.
  std::shared_ptr<const TileSpace> space_of(const base::Value& node, base::Diagnostics& diags);

 private:
  std::unordered_map<std::string, std::shared_ptr<const TileSpace>> spaces_;
};

// What of a node says which space it is of.
inline constexpr std::array<std::string_view, 6> kSpaceKeys = {"expr",  "sizes",  "shapes",
                                                               "dtype", "dtypes", "accumulate"};

// The number that a program document's `format` has.
inline constexpr std::int64_t kProgramFormat = 3;

// Keys of format 1, of nodes of threads.
inline constexpr base::RenamedKey kRenamedKeys[] = {{"", "stages", "nodes"},
                                                    {"", "staged", "cached"},
                                                    {"", "swizzle", "rotate"},
                                                    {"", "boxes", "box, of inputs whose copy is 'tma'"},
                                                    {"", "pipeline", "num_stages"},
                                                    {"", "raster", "order"},
                                                    {"", "band", "group_m"},
                                                    {"", "instruction", "mma"},
                                                    {"mapping.", ".virtual", "vthread"},
                                                    {"mapping.", ".serial", "per_thread"}};

// One node, checked against itself and the chip's level names but not against its limits (tile/fit.h). Keys that are
// left out have the defaults of make_stage_program. With a `holder` it is an epilogue of that, whose tiles and threads
// are not said again. `further_keys` takes what stands next to the node's own keys.
std::optional<StageProgram> read_stage(const base::Value& node, const arch::ArchSpec& arch, SpaceCache& cache,
                                       const StageProgram* holder, base::Diagnostics& diags,
                                       const std::function<void(base::Fields&)>& further_keys);

}  // namespace tilescope::tile
