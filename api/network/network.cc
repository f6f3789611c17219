// SPDX-License-Identifier: Apache-2.0
#include "api/network/network.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/network/detail/loaded.h"
#include "expr/work.h"
#include "graph/description.h"
#include "graph/network.h"
#include "graph/onnx.h"

namespace tilescope::api {
namespace {

std::string text_of(const graph::Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

NetworkNodeRow row_of(const graph::NetworkNode& n, const graph::Network& network, base::Diagnostics& diags) {
  NetworkNodeRow row{n.name, n.kind, {}, 0, 0, n.stages.text, {}};
  for (const std::vector<std::string>* tensors : {&n.inputs, &n.outputs})
    for (const std::string& name : *tensors)
      if (const auto t = network.tensors.find(name); t != network.tensors.end()) row.bytes += bytes_of(t->second);
  if (const auto t = network.tensors.find(n.outputs.front()); t != network.tensors.end())
    row.shape = text_of(t->second.shape);
  if (const auto e = expression_of(n, network, diags)) row.operations = expr::operations_of(*e);
  return row;
}

std::optional<std::vector<graph::Tensor>> tensors_in(const std::filesystem::path& folder, const std::string& prefix,
                                                     base::Diagnostics& diags) {
  std::vector<graph::Tensor> out;
  for (std::size_t i = 0;; ++i) {
    const std::filesystem::path file = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!std::filesystem::exists(file)) return out;
    auto t = graph::read_onnx_tensor(file.string(), diags);
    if (!t) return std::nullopt;
    out.push_back(*std::move(t));
  }
}

}  // namespace

std::vector<NetworkNodeRow> nodes_of(const LoadedNetwork& n, base::Diagnostics& diags) {
  std::vector<NetworkNodeRow> out;
  for (const graph::NetworkNode& node : n.network.nodes) out.push_back(row_of(node, n.network, diags));
  for (const graph::OpaqueNode& node : n.network.opaque) out.push_back({node.name, node.kind, {}, 0, 0, {}, node.why});
  return out;
}

std::optional<NetworkValues> check_network_values(const std::string& file, const std::string& folder,
                                                  base::Diagnostics& diags) {
  if (is_described(file)) {
    if (graph::described_network(file, {}, diags))
      diags.error({diags.add_source(file)}, "a description has no weights, and so no values to compare");
    return std::nullopt;
  }
  const auto model = graph::read_onnx(file, diags);
  if (!model) return std::nullopt;
  const auto inputs = tensors_in(folder, "input", diags), expected = tensors_in(folder, "output", diags);
  if (!inputs || !expected) return std::nullopt;
  const auto error = [&](const std::string& where, std::string text) {
    diags.error({diags.add_source(where)}, std::move(text));
    return std::nullopt;
  };
  if (expected->empty()) return error(folder, "expected output_0.pb, found none");
  if (inputs->size() < model->inputs.size())
    return error(folder, fmt::format("expected {} inputs, input_0.pb and so on, found {}", model->inputs.size(),
                                     inputs->size()));
  for (const auto& [name, c] : model->constants)
    if (c.elsewhere) return error(file, fmt::format("tensor '{}': its values are in another file", name));
  const auto network = graph::network_of(*model, {}, *inputs, graph::kAllKnown, diags);
  if (!network) return std::nullopt;
  for (const graph::OpaqueNode& n : network->opaque)
    error(file, fmt::format("node '{}' ({}): {}", n.name, n.kind, n.why));
  if (!network->opaque.empty()) return std::nullopt;
  NetworkValues out;
  for (std::size_t i = 0; i < expected->size() && i < model->outputs.size(); ++i) {
    const std::string& name = model->outputs[i].name;
    const auto t = network->tensors.find(name);
    if (t == network->tensors.end() || !t->second.values)
      return error(file, fmt::format("no node writes the output '{}'", name));
    const graph::Tensor computed = {name, t->second.element, t->second.shape, *t->second.values},
                        published = graph::as_declared((*expected)[i], model->outputs[i].element);
    const auto why = graph::difference(computed, published);
    out.outputs.push_back(
        {name, text_of(computed.shape), !why, graph::greatest_error(computed, published), why.value_or("")});
  }
  return out;
}

}  // namespace tilescope::api
