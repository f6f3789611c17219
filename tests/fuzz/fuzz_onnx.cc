// SPDX-License-Identifier: Apache-2.0
// Any bytes are a model or a list of mistakes, never both and never neither, and so is what network_of makes of a
// model. Nodes with stages have an expression. What inputs of ones and constants determine is computed, within small
// limits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/diagnostics.h"
#include "graph/network.h"
#include "graph/onnx.h"

namespace {

using namespace tilescope;

constexpr graph::KnownLimits kShapes = {512, 1e4, 1 << 14, 1e5, false};
constexpr graph::KnownLimits kValues = {512, 1e4, 1 << 14, 1e5, true};

graph::OpenSizes sizes_of(const graph::Model& model) {
  graph::OpenSizes out;
  for (const graph::ModelValue& v : model.inputs)
    for (std::size_t d = 0; d < v.shape.size(); ++d)
      if (v.shape[d] < 0) out[v.open[d]] = 3;
  return out;
}

// Values of ones for inputs, as long as they are of few elements.
std::vector<graph::Tensor> ones_of(const graph::Model& model) {
  constexpr std::int64_t kMost = 4096;
  std::vector<graph::Tensor> out;
  for (const graph::ModelValue& v : model.inputs) {
    graph::Tensor t{v.name, v.element, v.shape, {}};
    for (std::int64_t& d : t.shape) d = d < 0 ? 2 : d;
    if (graph::mistake_in(t.shape) || graph::elements_of(t.shape) > kMost) return {};
    t.values.assign(static_cast<std::size_t>(graph::elements_of(t.shape)), 1);
    out.push_back(std::move(t));
  }
  return out;
}

void make(const graph::Model& model, const graph::OpenSizes& sizes, const std::vector<graph::Tensor>& inputs,
          const graph::KnownLimits& known) {
  base::Diagnostics diags;
  const auto network = graph::network_of(model, sizes, inputs, known, diags);
  base::check(network.has_value() == diags.ok(), "a model without mistakes is a network");
  if (!network) return;
  for (const graph::NetworkNode& n : network->nodes)
    base::check(n.stages.text.empty() || graph::expression_of(n, *network, diags), "stages are an expression");
  for (const auto& [name, t] : network->tensors)
    if (t.values && t.element != graph::Element::kOther)
      base::check(std::ssize(*t.values) == graph::elements_of(t.shape), "a tensor has values of its shape");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  base::Diagnostics diags;
  const auto model =
      graph::read_onnx_bytes({reinterpret_cast<const char*>(data), size}, "fuzz.onnx", diags, kShapes.elements);
  base::check(model.has_value() == diags.ok(), "bytes without mistakes are a model");
  if (!model) return 0;
  make(*model, sizes_of(*model), {}, kShapes);
  make(*model, {}, ones_of(*model), kValues);
  return 0;
}
