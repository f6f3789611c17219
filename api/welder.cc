// SPDX-License-Identifier: Apache-2.0
#include "api/detail/welder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "construct/welder_open.h"

namespace tilescope::api {
namespace {

base::List list_of(const tile::Extents& extents) {
  base::List out;
  for (const std::int64_t n : extents) out.emplace_back(n);
  return out;
}

std::int64_t product(const tile::Extents& extents) {
  std::int64_t n = 1;
  for (const std::int64_t extent : extents) n *= extent;
  return n;
}

std::int64_t threads_of(const construct::WelderStage& s, const arch::WelderBaseline& constants) {
  if (!s.warps) return product(s.threads) * product(s.reduction_threads);
  return product(s.block) / product(s.warps->warp) * constants.warp;
}

base::Value document_of(const construct::WelderStage& s, const expr::Expression& e, std::size_t stage) {
  const auto name = [&](int tensor) { return e.tensors[static_cast<std::size_t>(tensor)].name; };
  base::Map out = {{"output", name(e.stages[stage].output)}, {"block", list_of(s.block)}, {"steps", list_of(s.steps)}};
  if (s.warps) {
    out.push_back({"warp", list_of(s.warps->warp)});
    out.push_back({"fragment", base::List{s.warps->m, s.warps->n, s.warps->k}});
    out.push_back({"cutlass", s.warps->cutlass});
    return out;
  }
  out.push_back({"threads", list_of(s.threads)});
  out.push_back({"reduction_threads", list_of(s.reduction_threads)});
  base::Map vectors;
  for (const auto& [tensor, elements] : s.vectors) vectors.push_back({name(tensor), elements});
  out.push_back({"vectors", std::move(vectors)});
  if (!s.packed.empty()) out.push_back({"packed", list_of(s.packed)});
  return out;
}

base::Value document_of(const construct::WelderConfiguration& c, const expr::Expression& e, std::size_t rank) {
  base::Map out = {{"rank", rank},
                   {"tile", list_of(c.tile)},
                   {"traffic_bytes", c.traffic_bytes},
                   {"smem_bytes", c.smem_bytes},
                   {"blocks_per_core", c.blocks_per_core},
                   {"waves", c.waves},
                   {"blocks", c.grid},
                   {"score", c.score}};
  base::List stages;
  for (std::size_t s = 0; s < c.stages.size(); ++s) stages.push_back(document_of(c.stages[s], e, s));
  out.push_back({"stages", std::move(stages)});
  if (c.panels) {
    out.push_back({"order", c.panels->by_row ? "row" : "column"});
    out.push_back({"panel", c.panels->width});
  }
  return out;
}

ConfigurationRow row_of(const construct::WelderConfiguration& c, const arch::WelderBaseline& constants) {
  std::vector<std::int64_t> steps;
  for (const construct::WelderStage& s : c.stages) steps.insert(steps.end(), s.steps.begin(), s.steps.end());
  return {fmt::format("{}", fmt::join(c.tile, "x")),
          steps.empty() ? "-" : fmt::format("{}", fmt::join(steps, " ")),
          c.traffic_bytes,
          c.smem_bytes,
          c.blocks_per_core,
          c.waves,
          c.grid,
          threads_of(c.stages.front(), constants),
          c.score};
}

}  // namespace

Configurations welder_configurations(const expr::Expression& e, const arch::ArchSpec& a, std::size_t keep) {
  Configurations out;
  if (!a.baselines.welder_open) {
    out.error = fmt::format("{} has no baselines.welder-open", a.name);
    return out;
  }
  const arch::WelderBaseline& constants = *a.baselines.welder_open;
  const construct::WelderResult r = construct::welder_open(e, constants, keep);
  base::List configurations, first_steps;
  for (const construct::WelderConfiguration& c : r.configurations) {
    configurations.push_back(document_of(c, e, out.rows.size()));
    out.rows.push_back(row_of(c, constants));
  }
  for (const tile::Extents& steps : r.first_steps) first_steps.emplace_back(list_of(steps));
  if (out.rows.empty() && r.valid_tiles == 0)
    out.error = fmt::format("no tile of it fits the capacities of {}'s baselines.welder-open", a.name);
  else if (out.rows.empty())
    out.error = fmt::format("threads can share none of the {} tiles that fit {}", r.valid_tiles, a.name);
  out.document = base::Map{{"base_tile", list_of(r.base_tile)},
                           {"first_steps", std::move(first_steps)},
                           {"valid_tiles", r.valid_tiles},
                           {"configurations", std::move(configurations)}};
  return out;
}

}  // namespace tilescope::api
