// SPDX-License-Identifier: Apache-2.0
#include "api/network/drawing.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/network/detail/flow.h"
#include "api/network/detail/loaded.h"
#include "api/network/detail/runs.h"

namespace tilescope::api {
namespace {

constexpr const char* kInput = "input";

bool is_view(const graph::NetworkNode& n) {
  return std::all_of(n.stages.outputs.begin(), n.stages.outputs.end(),
                     [](const graph::Output& o) { return o.kind != graph::Output::kStage; });
}

std::string weights_of(const graph::NetworkNode& n, const graph::Network& network) {
  for (const std::string& input : n.inputs)
    if (const auto t = network.tensors.find(input); t != network.tensors.end())
      if (t->second.role == graph::TensorRole::kConstant && t->second.shape.size() > 1)
        return fmt::format("{}", fmt::join(t->second.shape, "x"));
  return {};
}

// All nodes, none folded; layers are not known yet.
std::vector<DrawnNode> nodes_of(const LoadedNetwork& n, int& inputs) {
  std::vector<DrawnNode> out;
  std::map<std::string, int> writer;  // of every tensor
  for (const graph::ModelValue& v : n.model.inputs) {
    const auto t = n.network.tensors.find(v.name);
    if (t == n.network.tensors.end() || t->second.role != graph::TensorRole::kInput) continue;
    writer[v.name] = static_cast<int>(out.size());
    out.push_back({kInput, {}, fmt::format("{}", fmt::join(t->second.shape, "x")), {}, 0});
  }
  inputs = static_cast<int>(out.size());
  for (const graph::NetworkNode& node : n.network.nodes) {
    std::vector<int> from;
    for (const std::string& input : node.inputs)
      if (const auto w = writer.find(input); w != writer.end())
        if (std::find(from.begin(), from.end(), w->second) == from.end()) from.push_back(w->second);
    if (is_view(node)) {
      for (const std::string& o : node.outputs)
        if (!from.empty()) writer[o] = from.front();
      continue;
    }
    for (const std::string& o : node.outputs) writer[o] = static_cast<int>(out.size());
    const auto t = n.network.tensors.find(node.outputs.front());
    out.push_back({shown_kind(node), weights_of(node, n.network),
                   t == n.network.tensors.end() ? "" : fmt::format("{}", fmt::join(t->second.shape, "x")),
                   std::move(from), 0});
  }
  return out;
}

// Equal numbers for nodes that do the same to what stands as far before them; inputs are all the same.
std::vector<int> signatures(const std::vector<DrawnNode>& nodes, int inputs) {
  std::map<std::string, int> known;
  std::vector<int> out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string text = fmt::format("{} {} {}", nodes[i].kind, nodes[i].weights, nodes[i].shape);
    for (const int f : nodes[i].from)
      text += f < inputs ? std::string(" input") : fmt::format(" {}", static_cast<int>(i) - f);
    out.push_back(known.emplace(std::move(text), static_cast<int>(known.size())).first->second);
  }
  return out;
}

void set_layers(std::vector<DrawnNode>& nodes) {
  const auto node = [&](int i) -> const DrawnNode& { return nodes[static_cast<std::size_t>(i)]; };
  for (DrawnNode& n : nodes) {
    n.given = std::all_of(n.from.begin(), n.from.end(), [&](int f) { return node(f).given && node(f).kind != kInput; });
    for (const int f : n.from) n.layer = std::max(n.layer, node(f).layer + 1);
  }
  std::vector<int> first(nodes.size(), -1);  // layer of a reader
  for (std::size_t i = nodes.size(); i-- > 0;) {
    DrawnNode& n = nodes[i];
    if (n.given && first[i] > 0) n.layer = first[i] - 1;
    for (const int f : n.from) {
      int& reader = first[static_cast<std::size_t>(f)];
      reader = reader < 0 ? n.layer : std::min(reader, n.layer);
    }
  }
}

}  // namespace

NetworkDrawing drawing_of(const LoadedNetwork& n) {
  int inputs = 0;
  const std::vector<DrawnNode> all = nodes_of(n, inputs);
  const std::vector<EqualRuns> runs = equal_runs(signatures(all, inputs), inputs);
  // Where the nodes are drawn: copies stand for those of the first run.
  std::vector<int> drawn(all.size(), -1), kept;
  auto run = runs.begin();
  NetworkDrawing out;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    const int period = run == runs.end() ? 0 : run->last - run->first + 1;
    const bool copy = run != runs.end() && i > run->last;
    const int original = copy ? run->first + (i - run->first) % period : i;
    drawn[static_cast<std::size_t>(i)] =
        copy ? drawn[static_cast<std::size_t>(original)] : static_cast<int>(kept.size());
    if (!copy) kept.push_back(i);
    if (run != runs.end() && i + 1 == run->first + period * run->times) {
      out.runs.push_back(
          {drawn[static_cast<std::size_t>(run->first)], drawn[static_cast<std::size_t>(run->last)], run->times});
      ++run;
    }
  }
  std::vector<bool> read(all.size(), false);  // inputs of copies alone are not drawn
  for (const int i : kept) {
    DrawnNode node = all[static_cast<std::size_t>(i)];
    std::vector<int> from;
    for (const int f : node.from) {
      const int d = drawn[static_cast<std::size_t>(f)];
      if (d < static_cast<int>(out.nodes.size()) && std::find(from.begin(), from.end(), d) == from.end())
        from.push_back(d);
    }
    node.from = std::move(from);
    for (const int f : node.from) read[static_cast<std::size_t>(f)] = true;
    out.nodes.push_back(std::move(node));
  }
  std::vector<int> place(out.nodes.size(), -1);
  std::vector<DrawnNode> nodes;
  for (std::size_t i = 0; i < out.nodes.size(); ++i) {
    if (out.nodes[i].kind == kInput && !read[i]) continue;
    place[i] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(out.nodes[i]));
    for (int& f : nodes.back().from) f = place[static_cast<std::size_t>(f)];
  }
  for (DrawnRun& r : out.runs) {
    r.first = place[static_cast<std::size_t>(r.first)];
    r.last = place[static_cast<std::size_t>(r.last)];
  }
  out.nodes = std::move(nodes);
  set_layers(out.nodes);
  return out;
}

std::optional<NetworkDrawing> drawing_of_network(const NetworkSource& source, base::Diagnostics& diags) {
  const auto n = load_network(source, diags);
  return n ? std::optional(drawing_of(*n)) : std::nullopt;
}

}  // namespace tilescope::api
