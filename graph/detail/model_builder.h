// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model that a description is expanded to, as it grows. Names that are taken get a number.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/detail/expanded.h"
#include "graph/model.h"
#include "graph/operator.h"

namespace tilescope::graph {

class ModelBuilder {
 public:
  ModelBuilder(std::string name, base::Position at, std::int64_t opset);

  KnownTensor input(const std::string& name, Element element, Shape shape, const expr::IndexDistribution& indices = {});
  KnownTensor constant(const std::string& name, Element element, Shape shape,
                       std::optional<std::vector<double>> values);
  // Adds a node that writes the first results of its stages, each under a name.
  std::vector<KnownTensor> node(ModelNode n, const OperatorStages& stages, const std::vector<std::string>& names);
  // Makes a tensor an output of the network. One that a node writes is called `name`, whatever its block calls it.
  // False where it is one already.
  bool output(const KnownTensor& t, const std::string& name);

  Model take();

 private:
  std::string unique(const std::string& name);

  Model model_;
  std::map<std::string, int> names_;            // how often each was asked for
  std::map<std::string, std::string> renamed_;  // outputs
};

}  // namespace tilescope::graph
