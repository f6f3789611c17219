// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/passes.h"

namespace tilescope::graph {

void drop_unread_nodes(Model& m) {
  std::map<std::string, std::size_t> writers;
  for (std::size_t n = 0; n < m.nodes.size(); ++n)
    for (const std::string& o : m.nodes[n].outputs) writers.emplace(o, n);
  // Back from the results; what a loop or a branch inside a node reads is not known, so that it is as good as a result.
  std::vector<std::string> read;
  for (const ModelValue& v : m.outputs) read.push_back(v.name);
  std::set<std::size_t> needed;
  for (const ModelNode& n : m.nodes)
    if (n.has_graph) return;
  while (!read.empty()) {
    const auto writer = writers.find(read.back());
    read.pop_back();
    if (writer == writers.end() || !needed.insert(writer->second).second) continue;
    const std::vector<std::string>& inputs = m.nodes[writer->second].inputs;
    read.insert(read.end(), inputs.begin(), inputs.end());
  }
  std::vector<ModelNode> kept;
  for (const std::size_t n : needed) kept.push_back(std::move(m.nodes[n]));
  m.nodes = std::move(kept);
  std::set<std::string> used;
  for (const ModelValue& v : m.outputs) used.insert(v.name);
  for (const ModelNode& n : m.nodes) used.insert(n.inputs.begin(), n.inputs.end());
  std::erase_if(m.constants, [&](const auto& c) { return !used.contains(c.first); });
}

}  // namespace tilescope::graph
