// SPDX-License-Identifier: Apache-2.0
#include "tile/transfer/multicast.h"

#include <algorithm>

#include <fmt/format.h>

#include "tile/microkernel/rules.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::tile {
namespace {

// A block's part of a box is whole core matrices, so that it begins where the swizzle of rows repeats.
std::string part_refusal(const StageProgram& p, std::size_t input) {
  const Operand& o = p.space->inputs[input];
  const TileShape shape = data_tile(o, p.block);
  const std::int64_t rows = shape[shape.size() - 2], blocks = p.cluster.blocks;
  if (rows % (blocks * kCoreRows) == 0) return {};
  return fmt::format("{}: {} rows of a box are no multiple of {}, {} for each of {} blocks", o.name, rows,
                     blocks * kCoreRows, kCoreRows, blocks);
}

}  // namespace

std::int64_t sharing_blocks(const StageProgram& p, std::size_t input) {
  const bool shares = !p.space->inputs[input].uses(static_cast<int>(p.cluster.axis));
  return shares ? p.cluster.blocks : 1;
}

std::string cluster_refusal(const StageProgram& p, const arch::ArchSpec& a) {
  const auto [axis, blocks] = p.cluster;
  if (blocks == 1 || !has_own_tiles(p)) return {};
  const std::optional<std::int64_t> most = a.core.tma ? a.core.tma->max_cluster : std::nullopt;
  if (!most) return fmt::format("{} has no clusters of blocks (core.tma.max_cluster)", a.name);
  if (blocks > *most) return fmt::format("{} blocks are more than the {} of {}", blocks, *most, a.name);
  if (blocks > a.core.count)
    return fmt::format("{} blocks are more than the {} cores of {}", blocks, a.core.count, a.name);
  if (!p.by_tma()) return "TMA does not load the tiles, and nothing else writes to several blocks";
  const std::string& name = p.space->axes[axis].name;
  if (p.blocks_along(axis) % blocks != 0)
    return fmt::format("{} blocks along {} are no multiple of {}", p.blocks_along(axis), name, blocks);
  if (const auto grouped = p.grouped_axis(); grouped == axis && p.group_m > 1 && p.group_m % blocks != 0)
    return fmt::format("groups of {} blocks along {} are no multiple of {}", p.group_m, name, blocks);
  bool any = false;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (sharing_blocks(p, i) == 1) continue;
    any = true;
    if (std::string why = part_refusal(p, i); !why.empty()) return why;
  }
  return any ? "" : fmt::format("blocks that are neighbours along {} have no tile in common", name);
}

std::optional<StageProgram> with_cluster(StageProgram p, BlockCluster cluster, const arch::ArchSpec& a) {
  p.cluster = cluster;
  return cluster_refusal(p, a).empty() ? std::optional(std::move(p)) : std::nullopt;
}

}  // namespace tilescope::tile
