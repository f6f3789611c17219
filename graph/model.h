// SPDX-License-Identifier: Apache-2.0
#pragma once
// A network as it is written down, before its shapes are known: nodes of ONNX's kinds by name, in a file of ONNX's or
// in YAML. graph/network.h makes a Network of it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostics.h"
#include "expr/index_draw.h"
#include "graph/tensor.h"

namespace tilescope::graph {

// Of ONNX's own domain, up to that of ONNX 1.12 (its Versioning.md), which Debian's library is of; what newer ones
// changed is not known here. Descriptions are of it.
inline constexpr std::int64_t kNewestOpset = 17;

// The most nodes of a model. Networks have thousands; more take minutes.
inline constexpr std::int64_t kMaxNodes = 200'000;

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>, Tensor>;

// Stages that the description of a network writes itself. The last one writes the node's result.
struct WrittenStages {
  std::string text;
  std::vector<std::pair<std::string, std::int64_t>> sizes;  // of axes that no input's shape determines
  std::vector<std::string> reads;                           // names in the text, of the node's inputs
  Element element = Element::kF32;                          // of the result
};

struct ModelNode {
  std::string name;                          // may be empty
  std::string kind;                          // `Conv`; of another domain than ONNX's own with it: `ai.onnx.ml.Scaler`
  std::vector<std::string> inputs, outputs;  // names of tensors; an empty one is left out
  std::map<std::string, Attribute> attributes;
  bool has_graph = false;                // an attribute is a graph: a loop or a branch
  std::optional<WrittenStages> written;  // of a node that is of no kind
  base::Position at;                     // of the node, where the file has lines; else the file as a whole
};

// An input or output of the whole model. A dimension that the file leaves open is -1.
struct ModelValue {
  std::string name;
  Element element = Element::kOther;
  Shape shape;
  std::vector<std::string> open;         // by dimension: the name of an open one, which may be empty
  expr::IndexDistribution indices = {};  // of an input that gives coordinates of other tensors
};

// A tensor that the model holds, as weights are. Its values are there where the file has them.
struct Constant {
  Element element = Element::kOther;
  Shape shape;
  std::optional<std::vector<double>> values;
  bool elsewhere = false;  // they are in a file of their own
};

struct Model {
  std::string name;        // its file, or its own
  base::Position at;       // the file as a whole
  std::int64_t opset = 0;  // of ONNX's own domain
  std::vector<ModelValue> inputs, outputs;
  std::map<std::string, Constant> constants;
  std::vector<ModelNode> nodes;  // in the file's order
};

}  // namespace tilescope::graph
