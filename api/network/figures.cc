// SPDX-License-Identifier: Apache-2.0
#include "api/network/figures.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/network/detail/group_kind.h"
#include "api/network/detail/loaded.h"
#include "expr/work.h"

namespace tilescope::api {
namespace {

double elements_of(const graph::Shape& shape) { return static_cast<double>(graph::elements_of(shape)); }

// --- multiply-adds

const std::set<std::string, std::less<>> kProducts = {
    "Conv",   "ConvInteger",   "ConvTranspose", "Einsum",        "Gemm",
    "MatMul", "MatMulInteger", "QLinearConv",   "QLinearMatMul", std::string(graph::kWrittenKind)};

struct Products {
  double macs = 0, written = 0;
};

Products products_of(const graph::NetworkNode& n, const graph::Network& network,
                     const std::optional<expr::Expression>& e) {
  Products out;
  if (!e || !kProducts.contains(n.kind)) return out;
  for (const expr::Stage& s : e->stages) {
    if (!is_product(s)) continue;
    double points = 1;
    for (const expr::Axis& a : s.axes) points *= static_cast<double>(a.size);
    out.macs += points;
    out.written += static_cast<double>(e->tensors[static_cast<std::size_t>(s.output)].elements());
  }
  // The stages of a transposed convolution may also visit taps that its stride leaves out.
  if (n.kind == "ConvTranspose") {
    const graph::Shape &x = network.tensors.at(n.inputs[0]).shape, &w = network.tensors.at(n.inputs[1]).shape;
    out.macs = elements_of(x) * elements_of({w.begin() + 1, w.end()});
  }
  return out;
}

// --- constants

// Running means and variances, which are no parameters.
std::set<std::string> statistics_of(const graph::Model& model) {
  std::set<std::string> out;
  for (const graph::ModelNode& n : model.nodes)
    if (n.kind == "BatchNormalization")
      for (std::size_t i = 3; i < std::min<std::size_t>(n.inputs.size(), 5); ++i) out.insert(n.inputs[i]);
  return out;
}

void add_bytes(const std::vector<std::string>& names, const graph::Network& network, NetworkKindRow& row) {
  for (const std::string& name : names) {
    const auto t = network.tensors.find(name);
    if (t == network.tensors.end()) continue;
    row.bytes += bytes_of(t->second);
    if (t->second.role == graph::TensorRole::kConstant) row.weight_bytes += bytes_of(t->second);
  }
}

std::vector<NetworkKindRow> opaque_kinds(const LoadedNetwork& n) {
  std::map<std::pair<std::string, std::string>, NetworkKindRow> rows;
  std::map<std::string, const graph::ModelNode*> by_name;
  for (const graph::ModelNode& m : n.model.nodes)
    by_name.emplace(!m.name.empty() ? m.name : m.outputs.empty() ? "" : m.outputs.front(), &m);
  for (const graph::OpaqueNode& o : n.network.opaque) {
    NetworkKindRow& row = rows[{o.kind, o.why}];
    row.kind = o.kind;
    row.why = o.why;
    ++row.nodes;
    if (const auto m = by_name.find(o.name); m != by_name.end()) add_bytes(m->second->inputs, n.network, row);
  }
  std::vector<NetworkKindRow> out;
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  return out;
}

}  // namespace

NetworkFigures figures_of(const std::string& name, const LoadedNetwork& n, base::Diagnostics& diags) {
  NetworkFigures out;
  out.name = name;
  out.about = n.about;
  out.opset = n.model.opset;
  for (const expr::SuiteVariable& v : n.variables) out.sizes.push_back({v.name, v.value});
  const std::set<std::string> statistics = statistics_of(n.model);
  for (const auto& [constant, t] : n.model.constants) {
    if (!graph::is_float(t.element) || t.shape.empty()) continue;
    const double elements = elements_of(t.shape);
    out.weight_bytes += elements * static_cast<double>(graph::size_of(t.element));
    if (!statistics.contains(constant)) out.parameters += elements;
  }
  for (const auto& [tensor, t] : n.network.tensors)
    if (t.role != graph::TensorRole::kConstant) out.largest_bytes = std::max(out.largest_bytes, bytes_of(t));
  std::map<std::string, NetworkKindRow> kinds;
  for (const graph::NetworkNode& node : n.network.nodes) {
    NetworkKindRow& row = kinds[node.kind];
    row.kind = node.kind;
    ++row.nodes;
    const auto e = graph::expression_of(node, n.network, diags);
    const Products p = products_of(node, n.network, e);
    row.macs += p.macs;
    out.macs += p.macs;
    out.activations += p.written;
    const double operations = e ? expr::operations_of(*e) : 0;
    row.operations += operations;
    out.operations += operations;
    add_bytes(node.inputs, n.network, row);
    add_bytes(node.outputs, n.network, row);
  }
  for (auto& [kind, row] : kinds) out.kinds.push_back(std::move(row));
  for (NetworkKindRow& row : opaque_kinds(n)) out.kinds.push_back(std::move(row));
  return out;
}

std::optional<NetworkFigures> figures_of_network(const NetworkSource& source, bool nodes, base::Diagnostics& diags) {
  const auto n = load_network(source, diags);
  if (!n) return std::nullopt;
  NetworkFigures out = figures_of(source.name, *n, diags);
  if (nodes) out.nodes = nodes_of(*n, diags);
  return out;
}

}  // namespace tilescope::api
