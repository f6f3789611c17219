// SPDX-License-Identifier: Apache-2.0
#include "api/layout_words.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tile/transfer/document.h"

namespace tilescope::api {

std::string joined(const tile::Extents& extents, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += fmt::format("{}{}", i == 0 ? "" : "x", extents[i]);
  return out;
}

std::string axis_names(const tile::TileSpace& space) {
  std::vector<std::string_view> names;
  for (const tile::TileAxis& a : space.axes) names.push_back(a.name);
  return fmt::format("{}", fmt::join(names, " x "));
}

// What of a layout differs from the plain one, in the words of the program's document.
std::string layout_of(const tile::StageProgram& p) {
  std::vector<std::string> parts;
  if (!tile::name_of(p.micro_kernel).empty()) parts.emplace_back(tile::name_of(p.micro_kernel));
  for (std::string& words : tile::transfer_words(p)) parts.push_back(std::move(words));
  const auto more_than_one = [&](std::string_view name, std::int64_t n) {
    if (n > 1) parts.push_back(fmt::format("{} {}", name, n));
  };
  if (tile::chooses_threads(p.micro_kernel)) more_than_one("per_thread", p.mapping.back().per_thread);
  for (std::size_t a = 0; a < p.split.size(); ++a)
    more_than_one("share_" + p.space->axes[a].name, p.reduction_threads[a]);
  for (std::size_t a = 0; a < p.split.size(); ++a) more_than_one("split_" + p.space->axes[a].name, p.split[a]);
  more_than_one("num_stages", p.num_stages);
  more_than_one("loop_stages", p.loop_stages);
  if (p.block_order == tile::BlockOrder::kColumn) parts.emplace_back("column");
  more_than_one("group_m", p.group_m);
  more_than_one("cluster_" + p.space->axes[p.cluster.axis].name, p.cluster.blocks);
  if (p.is_persistent()) parts.emplace_back("persistent");
  more_than_one("crews", p.tile_loop.crews);
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace tilescope::api
