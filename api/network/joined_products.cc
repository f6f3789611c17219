// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/grouping.h"
#include "graph/passes.h"

namespace tilescope::api {
namespace {

// Times of all groups, each as if it ran alone; nullopt where one has none.
std::optional<double> time_of_groups(const graph::Network& n, base::Fuse fuse, BestPrograms& best, int jobs,
                                     const Progress& progress) {
  const Grouping grouping = grouping_of(n, graph::Uses(n), fuse, best, jobs, progress);
  double sum = 0;
  for (const NodeGroup& g : grouping.groups) {
    if (g.best->programs.empty()) return std::nullopt;
    sum += g.best->programs.front().estimate.total_us;
  }
  return grouping.alone.empty() ? std::optional(sum) : std::nullopt;
}

}  // namespace

LoadedNetwork with_joined_products(LoadedNetwork n, base::Fuse fuse, BestPrograms& best, int jobs,
                                   const Progress& progress) {
  if (fuse == base::Fuse::kNone || !n.simplified) return n;
  const std::set<std::string> kinds = graph::kinds_of_products_of_one_input(n.model);
  if (kinds.empty()) return n;
  auto least = time_of_groups(n.network, fuse, best, jobs, progress);
  if (!least) return n;
  for (const std::string& kind : kinds) {
    LoadedNetwork tried = n;
    graph::join_products_of_one_input(tried.model, {kind});
    base::Diagnostics unread;
    auto network = graph::network_of(tried.model, tried.open, {}, graph::kShapesKnown, unread);
    if (!network) continue;
    tried.network = *std::move(network);
    const auto time = time_of_groups(tried.network, fuse, best, jobs, progress);
    if (!time || *time >= *least) continue;
    least = time;
    n = std::move(tried);
  }
  return n;
}

}  // namespace tilescope::api
