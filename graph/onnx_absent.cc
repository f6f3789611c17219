// SPDX-License-Identifier: Apache-2.0
// Instead of onnx_protobuf.cc where the build has found no ONNX library.

#include "graph/onnx.h"

namespace tilescope::graph {

std::string onnx_refusal() {
  return "this build reads no ONNX files: Debian's libonnx-dev and libprotobuf-dev were not there";
}

std::optional<Model> read_onnx(const std::string& path, base::Diagnostics& diags, std::int64_t) {
  diags.error({diags.add_source(path)}, onnx_refusal());
  return std::nullopt;
}

std::optional<Model> read_onnx_bytes(std::string_view, const std::string& name, base::Diagnostics& diags,
                                     std::int64_t) {
  diags.error({diags.add_source(name)}, onnx_refusal());
  return std::nullopt;
}

std::optional<Tensor> read_onnx_tensor(const std::string& path, base::Diagnostics& diags) {
  diags.error({diags.add_source(path)}, onnx_refusal());
  return std::nullopt;
}

}  // namespace tilescope::graph
