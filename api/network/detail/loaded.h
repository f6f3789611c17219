// SPDX-License-Identifier: Apache-2.0
#pragma once
// A network by its name, or of a file of YAML or ONNX.

#include <optional>
#include <string>
#include <vector>

#include "api/network/drawing.h"
#include "api/network/figures.h"
#include "api/network/network.h"
#include "base/diagnostics.h"
#include "expr/suite_variables.h"
#include "graph/network.h"

namespace tilescope::api {

struct LoadedNetwork {
  std::string about;                           // empty of an ONNX file
  std::vector<expr::SuiteVariable> variables;  // with their values; of an ONNX file none
  graph::OpenSizes open;                       // given sizes of an ONNX file's open dimensions
  bool simplified = false;                     // all simplifications were asked for, and not some by name
  graph::Model model;
  graph::Network network;
};

// Whether it is no ONNX file: it ends in .yaml or .yml, or has neither a '/' nor a '.'.
bool is_described(const std::string& name);

// With all simplifications where it names none: what runs on a chip is simplified.
NetworkSource to_be_timed(NetworkSource source);

// Nullopt after errors.
std::optional<LoadedNetwork> load_network(const NetworkSource& source, base::Diagnostics& diags);

// What network.h, figures.h and drawing.h say of one. Mistakes of nodes go to `diags`.
std::vector<NetworkNodeRow> nodes_of(const LoadedNetwork& n, base::Diagnostics& diags);
NetworkFigures figures_of(const std::string& name, const LoadedNetwork& n, base::Diagnostics& diags);
NetworkDrawing drawing_of(const LoadedNetwork& n);

}  // namespace tilescope::api
