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

// Requests of one kind: each sequence has `new_tokens` to compute after `past` tokens that are in the cache.
struct Requests {
  std::int64_t sequences = 1, new_tokens = 1, past = 0;
};

// Names of all networks that come with Tilescope.
std::vector<std::string_view> network_names();

// Whether it is a file of YAML: it ends in .yaml or .yml.
bool is_description_file(std::string_view name);

// The network of that name or file. `sizes` override its variables. `requests`, if there are any, are computed together
// in place of the one kind that the variables batch, new and past tell; the network needs a block with `each: request`,
// and its variable `total` is the number of all new tokens. Every mistake of the file, of what it extends and of shapes
// that contradict each other goes to `diags`, an unknown name with a suggestion; then the result is nullopt.
std::optional<DescribedNetwork> described_network(std::string_view name, const std::vector<expr::GivenSize>& sizes,
                                                  base::Diagnostics& diags, const std::vector<Requests>& requests = {});
// The same for a file's text; messages call the file `name`.
std::optional<DescribedNetwork> described_network_of_text(std::string_view text, const std::string& name,
                                                          const std::vector<expr::GivenSize>& sizes,
                                                          base::Diagnostics& diags,
                                                          const std::vector<Requests>& requests = {});

// All real numbers of a model as those of another type: inputs, outputs, constants, results.
void use_floats(Model& model, Element element);

// Path of the JSON Schema of such files.
std::string network_schema_path();

}  // namespace tilescope::graph
