// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads one node of a program document. `--program` files and `--batch` lines both use it.

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

// A cache of tile spaces, so that batch lines with the same operator parse it once. Not thread-safe.
class SpaceCache {
 public:
  // The space for a node's expr, sizes, shapes, dtype, dtypes, accumulate and the names of its tile axes, or null after
  // an error.
  std::shared_ptr<const TileSpace> space_of(const base::Value& node, base::Diagnostics& diags);

 private:
  std::unordered_map<std::string, std::shared_ptr<const TileSpace>> spaces_;
};

// The keys of a node that determine its space.
inline constexpr std::array<std::string_view, 6> kSpaceKeys = {"expr",  "sizes",  "shapes",
                                                               "dtype", "dtypes", "accumulate"};

// The value of `format` in program documents.
inline constexpr std::int64_t kProgramFormat = 3;

// Renamed keys of format 1, for nodes of threads.
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

// Reads one node and checks it against itself and the chip's level names, but not against the chip's limits
// (tile/fit.h). Keys that are left out have the defaults of make_stage_program. With a `holder` the node is its
// epilogue, and does not repeat tiles and threads. `further_keys` reads keys beyond the node's own. Returns nullopt
// after an error.
std::optional<StageProgram> read_stage(const base::Value& node, const arch::ArchSpec& arch, SpaceCache& cache,
                                       const StageProgram* holder, base::Diagnostics& diags,
                                       const std::function<void(base::Fields&)>& further_keys);

}  // namespace tilescope::tile
