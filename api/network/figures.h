// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope network list` and `show`: what a network holds and computes, in the figures that tables of networks have.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/network/network.h"
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// All nodes of a kind.
struct NetworkKindRow {
  std::string kind;
  std::int64_t nodes = 0;
  double macs = 0;        // multiply-adds
  double operations = 0;  // all
  double weight_bytes = 0, bytes = 0;
  std::string why;  // why it has no stages
};

template <class V>
void describe(V& v, base::Is<NetworkKindRow> auto& r) {
  v.field({"kind", "", "ONNX's kind of node, or notation."}, r.kind);
  v.field({"nodes", "", "How many nodes there are of the kind."}, r.nodes);
  v.field({"macs", "", "Multiply-adds of convolutions and products."}, r.macs);
  v.field({"operations", "", "Arithmetic operations; a multiply-add is two."}, r.operations);
  v.field({"weight_bytes", "B", "Constants that its nodes read."}, r.weight_bytes);
  v.field({"bytes", "B", "Inputs and results of its nodes, each once a node."}, r.bytes);
  v.field({"why", "", "Why the notation has no stages for it; empty where it does."}, r.why);
}

struct NetworkSize {
  std::string name;
  std::int64_t value = 0;
};

struct NetworkFigures {
  std::string name, about;
  std::vector<NetworkSize> sizes;
  double parameters = 0;     // elements of weights
  double operations = 0;     // of all nodes that have stages
  double macs = 0;           // of convolutions and products
  double activations = 0;    // elements that convolutions and products write
  double weight_bytes = 0;   // parameters and running statistics
  double largest_bytes = 0;  // of a tensor that is no constant
  std::int64_t opset = 0;
  std::vector<NetworkKindRow> kinds;
  std::vector<NetworkNodeRow> nodes;  // those that run, then those without stages; where they were asked for
};

template <class V>
void describe(V& v, base::Is<NetworkFigures> auto& f) {
  v.field({"network", "", "Its name or file."}, f.name);
  v.field({"about", "", "What it is, and where it is from; empty of an ONNX file."}, f.about);
  v.numbers({{"sizes", "", "Its variables with their values."}, "", ""}, f.sizes, &NetworkSize::value);
  v.field(
      {"parameters", "", "Elements of constants that are trained: no running means and variances, no single numbers."},
      f.parameters);
  v.field({"operations", "", "Arithmetic operations of all nodes that have stages; a multiply-add is two."},
          f.operations);
  v.field({"macs", "", "Multiply-adds of convolutions and products of matrices."}, f.macs);
  v.field({"activations", "", "Elements that convolutions and products of matrices write."}, f.activations);
  v.field({"weight_bytes", "B", "All constants of real numbers."}, f.weight_bytes);
  v.field({"largest_activation_bytes", "B", "The largest tensor that is no constant."}, f.largest_bytes);
  v.field({"opset", "", "ONNX's operator set that it is written in."}, f.opset);
  v.list({"kinds", "", "Nodes by kind; last those that have no stages."}, f.kinds);
  v.list({"nodes", "", "Its nodes, those without stages last; empty unless they were asked for."}, f.nodes);
}

// The figures of a network or file, and its nodes if `nodes`. Nullopt after errors.
std::optional<NetworkFigures> figures_of_network(const NetworkSource& source, bool nodes, base::Diagnostics& diags);

}  // namespace tilescope::api
