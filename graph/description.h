// SPDX-License-Identifier: Apache-2.0
#pragma once
// Networks that are described in YAML (docs/networks.md): those that come with Tilescope have names, a user's own is a
// file. Descriptions have no weights: a constant has a shape.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"
#include "expr/suite_variables.h"
#include "graph/model.h"

namespace tilescope::graph {

struct DescribedNetwork {
  std::string about;                           // one sentence, with its source
  std::vector<expr::SuiteVariable> variables;  // with their values
  Model model;                                 // in float32
};

// Names of all networks that come with Tilescope.
std::vector<std::string_view> network_names();

// Whether it is a file of YAML: it ends in .yaml or .yml.
bool is_description_file(std::string_view name);

// The network of that name or file. `sizes` override its variables. Every mistake of the file, of what it extends and
// of shapes that contradict each other goes to `diags`, an unknown name with a suggestion; then the result is nullopt.
std::optional<DescribedNetwork> described_network(std::string_view name, const std::vector<expr::GivenSize>& sizes,
                                                  base::Diagnostics& diags);
// The same for a file's text; messages call the file `name`.
std::optional<DescribedNetwork> described_network_of_text(std::string_view text, const std::string& name,
                                                          const std::vector<expr::GivenSize>& sizes,
                                                          base::Diagnostics& diags);

// All real numbers of a model as those of another type: inputs, outputs, constants, results.
void use_floats(Model& model, Element element);

// Path of the JSON Schema of such files.
std::string network_schema_path();

}  // namespace tilescope::graph
