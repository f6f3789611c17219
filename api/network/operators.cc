// SPDX-License-Identifier: Apache-2.0
#include "api/network/operators.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/network/detail/grouping.h"
#include "api/network/detail/loaded.h"
#include "api/operator_kind.h"
#include "expr/infer.h"

namespace tilescope::api {

std::optional<std::vector<NetworkOperator>> operators_of_network(const NetworkSource& source,
                                                                 const arch::ArchSpec& chip, base::Fuse fuse,
                                                                 Repeats repeats, int jobs, const Progress& progress,
                                                                 base::Diagnostics& diags) {
  const auto read = load_network(to_be_timed(source), diags);
  if (!read) return std::nullopt;
  BestPrograms best(chip, fuse, {});
  const LoadedNetwork joined = with_joined_products(*read, fuse, best, jobs, progress);
  const graph::Network& network = joined.network;
  Grouping grouping = grouping_of(network, graph::Uses(network), fuse, best, jobs, progress);
  std::vector<NetworkOperator> out;
  std::map<std::string, std::size_t> known;
  for (NodeGroup& g : grouping.groups) {
    expr::Expression& e = g.subgraph.expression;
    const auto [at, is_new] = known.try_emplace(expr::text_of(e), out.size());
    if (is_new || repeats == Repeats::kListed)
      out.push_back(
          {{network.nodes[g.nodes.front()].name, kind_of_whole(e), std::move(e)}, std::move(g.subgraph.arrays)});
    else
      ++out[at->second].named.count;
  }
  const std::size_t left_out = network.opaque.size() + grouping.alone.size();
  const std::string why = !grouping.alone.empty()   ? grouping.alone.begin()->second
                          : !network.opaque.empty() ? network.opaque.front().why
                                                    : "no node computes anything";
  if (out.empty()) diags.error(network.at, fmt::format("no node is an operator: {}", why));
  if (out.empty()) return std::nullopt;
  if (left_out > 0)
    diags.note(network.at, fmt::format("{} of {} nodes are in no operator; the first: {}", left_out,
                                       network.nodes.size() + network.opaque.size(), why));
  return out;
}

}  // namespace tilescope::api
