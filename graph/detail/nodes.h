// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors and nodes of a description's lines, added to the model one after the other.

#include <map>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "graph/detail/expanded.h"
#include "graph/detail/model_builder.h"

namespace tilescope::graph {

// No further line is looked at: the network has too many nodes, which was reported.
struct TooMany {};

using KnownTensors = std::vector<KnownTensor>;

// Mistakes are reported and thrown as Broken.
class NodeMaker {
 public:
  // `blocks` are the names that a kind may be mistaken for.
  NodeMaker(const Arithmetic& arithmetic, ModelBuilder& model, std::vector<std::string_view> blocks,
            base::Diagnostics& diags)
      : arithmetic_(arithmetic), model_(model), blocks_(std::move(blocks)), diags_(diags) {}

  // The tensor of that name in the scope.
  const KnownTensor& tensor(const std::string& name, base::Position at, const Scope& scope) const;
  // An input or a constant without values; `hint` is a part of its name.
  KnownTensor new_tensor(const NewTensor& t, const Scope& scope, const std::string& hint);
  // A constant with values: a list of them, or one alone.
  KnownTensor literal(Element element, std::vector<double> values, bool scalar, const Scope& scope,
                      const std::string& hint);
  // A node of one of ONNX's kinds. It has a result for each name.
  KnownTensors node(const Call& c, const Scope& scope, const KnownTensors& arguments,
                    const std::vector<std::string>& names);
  // Stages that the line itself writes. Its name becomes that of what its last stage writes.
  KnownTensor stages(const Stages& s, const Scope& scope, std::vector<std::string>& names);
  // One node or use of a block more. Throws TooMany.
  void count(base::Position at);

 private:
  KnownTensors add(ModelNode n, const OperatorStages& stages, const Scope& scope, const std::vector<std::string>& names,
                   base::Position at);
  Attribute attribute(const Setting& s, const Scope& scope) const;
  [[noreturn]] void fail(base::Position at, std::string text) const;

  const Arithmetic& arithmetic_;
  ModelBuilder& model_;
  std::vector<std::string_view> blocks_;
  base::Diagnostics& diags_;
  std::int64_t used_ = 0;
};

}  // namespace tilescope::graph
