// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/flow.h"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "api/network/detail/runs.h"
#include "api/network/times.h"
#include "expr/stages.h"
#include "expr/work.h"
#include "tile/group.h"

namespace tilescope::api {
namespace {

// Of every stage the number of its kernel.
std::vector<std::size_t> kernels_by_stage(const tile::RProgram& program, const arch::ArchSpec& chip) {
  std::vector<std::size_t> out(program.stages());
  if (!std::holds_alternative<std::vector<tile::StageProgram>>(program.nodes)) {
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = s;
    return out;
  }
  const std::vector<tile::Group> groups = tile::groups_of(program, chip);
  for (std::size_t k = 0; k < groups.size(); ++k)
    for (const std::size_t s : groups[k]) out[s] = k;
  return out;
}

}  // namespace

std::string shown_kind(const graph::NetworkNode& n) {
  return n.kind == graph::kWrittenKind ? n.name.substr(n.name.rfind('.') + 1) : n.kind;
}

std::size_t busiest_node(const graph::Subgraph& s) {
  std::map<std::size_t, double> operations;
  for (std::size_t i = 0; i < s.expression.stages.size(); ++i) {
    const auto output = static_cast<std::size_t>(s.expression.stages[i].output);
    const auto node = s.node_of.find(s.expression.tensors[output].name);
    if (node != s.node_of.end()) operations[node->second] += expr::operations_of(expr::stages_of(s.expression, i, i));
  }
  const auto most = std::max_element(operations.begin(), operations.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == operations.end() ? 0 : most->first;
}

std::vector<NetworkStageRow> stages_of(const tile::RProgram& program, const arch::ArchSpec& chip,
                                       const graph::Subgraph& s) {
  const std::vector<std::size_t> kernels = kernels_by_stage(program, chip);
  std::vector<NetworkStageRow> out;
  for (std::size_t i = 0; i < program.stages(); ++i) {
    const std::string& tensor = program.space(i).output.name;
    const auto node = s.node_of.find(tensor);
    out.push_back({tensor, node == s.node_of.end() ? 0 : node->second, kernels[i]});
  }
  return out;
}

std::vector<NetworkPassRow> passes_of(const tile::RProgram& program) {
  std::vector<NetworkPassRow> out;
  for (const tile::Edge& e : program.edges)
    out.push_back({static_cast<std::size_t>(e.from), static_cast<std::size_t>(e.to), e.tensor, e.level});
  return out;
}

std::vector<NetworkRunRow> runs_of(const std::vector<NetworkGroupRow>& groups) {
  std::map<std::string, std::size_t> writer;
  std::map<std::string, int> known;
  std::vector<int> items;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const NetworkGroupRow& r = groups[g];
    std::string text = r.program.empty() ? fmt::format("{} {} {}", r.op, r.sizes, r.error) : r.program;
    for (const std::string& tensor : r.reads) {
      const auto w = writer.find(tensor);
      text += w == writer.end() ? " outside" : fmt::format(" {}", g - w->second);
    }
    for (const std::string& tensor : r.writes) writer.try_emplace(tensor, g);
    items.push_back(known.emplace(std::move(text), static_cast<int>(known.size())).first->second);
  }
  std::vector<NetworkRunRow> out;
  for (const EqualRuns& r : equal_runs(items, 0))
    out.push_back(
        {static_cast<std::size_t>(r.first), static_cast<std::size_t>(r.last), static_cast<std::size_t>(r.times)});
  return out;
}

}  // namespace tilescope::api
