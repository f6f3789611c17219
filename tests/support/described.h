// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of described networks by plain loops, with weights drawn by their names.

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "graph/description.h"
#include "graph/network.h"

namespace tilescope::tests {

using ValuesByName = std::map<std::string, std::vector<double>>;

// Uniform in [-1, 1), the same for the same name.
inline std::vector<double> drawn_values(std::string_view name, std::size_t count) {
  std::uint64_t state = 1469598103934665603U;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::vector<double> out(count);
  for (double& v : out) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    v = static_cast<double>(state >> 40U) / (1U << 23U) - 1;
  }
  return out;
}

// Weights of about the size that keeps activations where they are; variances are positive.
inline void draw_weights(graph::Model& model) {
  for (auto& [name, t] : model.constants) {
    if (t.values) continue;
    t.values = drawn_values(name, static_cast<std::size_t>(graph::elements_of(t.shape)));
    double fan = 1;
    for (std::size_t d = 1; d < t.shape.size(); ++d) fan *= static_cast<double>(t.shape[d]);
    for (double& v : *t.values) {
      v = name.ends_with(".variance") ? 1 + 0.5 * v : v / std::sqrt(fan);
      v = graph::rounded(t.element, v);
    }
  }
}

// The outputs; inputs that are not given are drawn, integers as 0 and 1.
inline ValuesByName values_of(graph::Model& model, const ValuesByName& given) {
  draw_weights(model);
  std::vector<graph::Tensor> inputs;
  for (const graph::ModelValue& v : model.inputs) {
    graph::Tensor t{v.name, v.element, v.shape, {}};
    const auto known = given.find(v.name);
    t.values = known != given.end() ? known->second
                                    : drawn_values(v.name, static_cast<std::size_t>(graph::elements_of(v.shape)));
    if (known == given.end())
      for (double& x : t.values) x = graph::is_float(v.element) ? graph::rounded(v.element, x) : (x > 0 ? 1 : 0);
    inputs.push_back(std::move(t));
  }
  base::Diagnostics diags;
  const auto network = graph::network_of(model, {}, inputs, graph::kAllKnown, diags);
  ValuesByName out;
  EXPECT_TRUE(network) << testing::PrintToString(diags.formatted_errors());
  if (!network) return out;
  for (const graph::OpaqueNode& n : network->opaque) ADD_FAILURE() << n.name << " (" << n.kind << "): " << n.why;
  for (const graph::ModelValue& v : model.outputs) {
    const auto t = network->tensors.find(v.name);
    if (t == network->tensors.end() || !t->second.values) {
      ADD_FAILURE() << v.name << " has no values";
      continue;
    }
    EXPECT_EQ(t->second.shape, v.shape) << v.name;
    out[v.name] = *t->second.values;
  }
  return out;
}

}  // namespace tilescope::tests
