// SPDX-License-Identifier: Apache-2.0
#pragma once
// A network: tensors, and nodes of one or several stages each that compute them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "expr/expression.h"
#include "graph/model.h"
#include "graph/operator.h"

namespace tilescope::graph {

enum class TensorRole : std::uint8_t { kInput, kConstant, kBetween, kOutput };

struct NetworkTensor {
  TensorRole role{};
  Element element{};
  Shape shape;
  std::optional<std::vector<double>> values;  // where they are known before the network runs
  bool elsewhere = false;                     // a constant whose values are in a file of their own
  expr::IndexDistribution indices = {};       // of an input that gives coordinates of other tensors
};

// All of its elements.
double bytes_of(const NetworkTensor& t);

struct NetworkNode {
  std::string name, kind;
  std::vector<std::string> inputs, outputs;  // tensors; an empty name is left out
  OperatorStages stages;
};

// A node that has no stages: its results are not known, and neither are nodes that need their shapes.
struct OpaqueNode {
  std::string name, kind, why;
  base::Position at;
};

struct Network {
  base::Position at;  // the file as a whole
  std::map<std::string, NetworkTensor> tensors;
  std::vector<NetworkNode> nodes;    // in an order in which they can run, without those of known results
  std::vector<OpaqueNode> opaque;    // in the file's order
  std::vector<std::string> outputs;  // of the whole network
};

// An open dimension's size, by the name that the file gives it.
using OpenSizes = std::map<std::string, std::int64_t>;

// How much is computed of what inputs and constants determine.
struct KnownLimits {
  std::int64_t elements = 0;  // of a tensor
  double iterations = 0;      // of a node's plain loops
  std::int64_t all_elements = 0;
  double all_iterations = 0;
  bool refuse = false;  // a node beyond them, which else is one of the network's
};
// All values of a network whose inputs are known.
inline constexpr KnownLimits kAllKnown = {std::int64_t{1} << 27, 2e9, std::int64_t{1} << 29, 2e10, true};
// Shapes and what they are computed from.
inline constexpr KnownLimits kShapesKnown = {4096, 4e6, std::int64_t{1} << 26, 2e8, false};

// The network of a model. `inputs` are values of the first inputs; the list may be empty. What depends only on them and
// on constants is computed by the plain loops of expr/reference.h within the limits, and the network leaves out nodes
// whose results are known. Errors name the node: a dimension that is left open, a size for none, a cycle, shapes and
// attributes that contradict each other. Then the result is nullopt.
std::optional<Network> network_of(const Model& model, const OpenSizes& sizes, const std::vector<Tensor>& inputs,
                                  const KnownLimits& known, base::Diagnostics& diags);

// A node's stages as an expression: arithmetic in f64 where a tensor has values that f32 does not hold, else in f32.
// Nothing where the node has no stages, and after an error.
std::optional<expr::Expression> expression_of(const NetworkNode& node, const Network& network,
                                              base::Diagnostics& diags);

// A tensor in a file as the model declares it: files of tensors hold the bits of bfloat16 as uint16.
Tensor as_declared(Tensor stored, Element declared);

// Whether two tensors are equal as ONNX's own runner asks: |a - b| <= 1e-7 + 1e-3 |b| of each element, 2^-7 |b| of
// bfloat16, and shapes equal. The worst element is described where they are not.
std::optional<std::string> difference(const Tensor& computed, const Tensor& expected);

// The greatest difference of two tensors of one shape, as a share of the greatest expected magnitude. Nothing where an
// infinity or not-a-number is in one alone, where shapes differ, and where zeros alone are expected and not computed.
std::optional<double> greatest_error(const Tensor& computed, const Tensor& expected);

}  // namespace tilescope::graph
