// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope network`: what a network computes, and whether the values of an ONNX file are right.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// A network as the command line names it.
struct NetworkSource {
  std::string name;  // one of network_names(), a file that ends in .yaml or .yml, or an ONNX file, which has a '/' or
                     // a '.' in its name
  std::string sizes = {};   // values of its variables, or open dimensions by their names: batch=64,seq=512
  std::string dtype = {};   // one of f32, f16, bf16 and f64: that of all tensors of real numbers; empty leaves them
  std::string passes = {};  // simplifications (pass_names()), joined by commas; "all"; none where empty or "none"
  // A CSV file of requests that a language model computes together, with the columns new, past and sequences.
  std::string requests = {};
  std::map<std::string, std::int64_t> at_point = {};  // values of variables at a point of --table
};

// One node of a network.
struct NetworkNodeRow {
  std::string name, kind;
  std::string shape;      // of its first result: 1x64x112x112
  double operations = 0;  // of its stages; a multiply-add is two
  double bytes = 0;       // its inputs and results, each once
  std::string op;         // its stages; empty of a view
  std::string why;        // why it has none; empty where it does
};

template <class V>
void describe(V& v, base::Is<NetworkNodeRow> auto& r) {
  v.field({"node", "", "Name of the node, or of its first result where it has none."}, r.name);
  v.field({"kind", "", "ONNX's kind of node: Conv, MatMul, ..."}, r.kind);
  v.field({"shape", "", "Shape of its first result."}, r.shape);
  v.field({"operations", "", "Arithmetic operations; a multiply-add is two."}, r.operations);
  v.field({"bytes", "B", "Its inputs and results, each once."}, r.bytes);
  v.field({"operator", "", "Its stages in index notation; empty where it is another view of its input."}, r.op);
  v.field({"why", "", "Why the notation has no stages for it; empty where it does."}, r.why);
}

// Names of the networks that come with Tilescope.
std::vector<std::string_view> network_names();

// Path of the JSON Schema of described networks.
std::string network_schema_path();

// Names of the simplifications in the order in which they are applied (graph/passes.h).
std::vector<std::string_view> pass_names();

// One output compared with its published values.
struct NetworkValuesRow {
  std::string output, shape;
  bool right = false;
  std::optional<double> largest_error;  // greatest difference, as a share of the greatest expected magnitude
  std::string why;                      // how it differs, or why it is not computed
};

template <class V>
void describe(V& v, base::Is<NetworkValuesRow> auto& r) {
  v.field({"output", "", "Name of the network's output."}, r.output);
  v.field({"shape", "", "Its shape."}, r.shape);
  v.field({"right", "", "Whether every value is within 1e-7 and a thousandth of what is expected."}, r.right);
  v.field({"largest_error", "",
           "The greatest difference, as a share of the greatest expected magnitude; absent where shapes or infinities "
           "differ."},
          r.largest_error);
  v.field({"why", "", "How it differs, or why it is not computed; empty where it is right."}, r.why);
}

struct NetworkValues {
  std::vector<NetworkValuesRow> outputs;
};

template <class V>
void describe(V& v, base::Is<NetworkValues> auto& r) {
  v.list({"outputs", "", "The network's outputs."}, r.outputs);
}

// Computes the file from `folder`/input_0.pb, input_1.pb, ... by plain loops, and compares with output_0.pb, ... as
// ONNX's own runner does. Nullopt after errors: the file is none, or has nodes without stages.
std::optional<NetworkValues> check_network_values(const std::string& file, const std::string& folder,
                                                  base::Diagnostics& diags);

}  // namespace tilescope::api
