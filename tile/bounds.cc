// SPDX-License-Identifier: Apache-2.0
#include "tile/detail/bounds.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tilescope::tile {
namespace {

constexpr double kMaxExtent = 0x1p31;    // of one axis of a tile, and threads of a block
constexpr double kMaxElements = 0x1p40;  // of one data tile, padded
constexpr double kMaxReach = 0x1p58;     // elements of memory from one corner of a data tile to the other

using TileReals = std::array<double, kMaxAxes>;

// Reports what exceeds a bound. A message names what it is about; it is put together only where it is needed.
class Bounds {
 public:
  explicit Bounds(base::Diagnostics& diags) : diags_(diags) {}

  void at_most(double n, double most, base::Position at, std::string_view what, std::string_view name) {
    if (n <= most) return;
    kept_ = false;
    diags_.error(
        at, fmt::format("{}: expected at most {:.0f}, got {:.0f}", fmt::format(fmt::runtime(what), name), most, n));
  }
  bool kept() const { return kept_; }

 private:
  base::Diagnostics& diags_;
  bool kept_ = true;
};

double extent_of(const TileDim& d, const TileReals& tile) {
  if (d.whole) return static_cast<double>(d.extent);
  double n = 1 + static_cast<double>(d.spread);
  for (const expr::Term& t : d.terms)
    n += (tile[static_cast<std::size_t>(t.axis)] - 1) * std::abs(static_cast<double>(t.coefficient));
  return n;
}

void check_operand(const Operand& o, const TileReals& tile, base::Position at, Bounds& bounds) {
  double elements = 1, reach = 0;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const double n = extent_of(o.dims[d], tile);
    elements *= n;
    reach += n * static_cast<double>(o.steps[d].front().stride);
  }
  bounds.at_most(elements, kMaxElements, at, "tiles: elements of '{}' in a block's tile", o.name);
  bounds.at_most(reach, kMaxReach, at, "tiles: elements of '{}' that a block's tile spans", o.name);
}

}  // namespace

bool tile_in_bounds(const TileSpace& space, const base::FixedVector<AxisMapping, kMaxAxes>& mapping,
                    const Extents& reduction_threads, const Extents& step, base::Position mapping_at,
                    base::Position tiles_at, base::Diagnostics& diags) {
  Bounds bounds(diags);
  TileReals tile{};
  double threads = 1;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    tile[a] = static_cast<double>(step[a]);
    threads *= static_cast<double>(reduction_threads[a]);
    if (a >= space.spatial) continue;
    const AxisMapping& m = mapping[a];
    tile[a] = static_cast<double>(m.vthread) * static_cast<double>(m.threads) * static_cast<double>(m.per_thread);
    threads *= static_cast<double>(m.threads);
    bounds.at_most(tile[a], kMaxExtent, mapping_at, "mapping.{}: vthread x threads x per_thread", space.axes[a].name);
  }
  bounds.at_most(threads, kMaxExtent, mapping_at, "mapping: the threads of all axes", {});
  for (std::size_t i = 0; i < space.operand_count(); ++i) check_operand(space.operand(i), tile, tiles_at, bounds);
  return bounds.kept();
}

bool padding_in_bounds(const StageProgram& p, base::Position padding_at, base::Diagnostics& diags) {
  Bounds bounds(diags);
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    const Operand& o = p.space->inputs[i];
    bounds.at_most(static_cast<double>(data_tile_elements(o, p.block, p.operands[i].padding)), kMaxElements, padding_at,
                   "padding.{}: elements of the padded tile", o.name);
  }
  return bounds.kept();
}

}  // namespace tilescope::tile
