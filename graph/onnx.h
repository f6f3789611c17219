// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads ONNX models by the distribution's library (onnx 1.12, operator sets up to 17). Only this header's source
// includes protobuf.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "graph/model.h"

namespace tilescope::graph {

// The model of a file. Constants of more than `most_values` elements come without values, and so do those whose values
// lie in another file. A file that is none, and a tensor whose shape and values contradict each other, are errors that
// name the file and the node or tensor; then the result is nullopt.
std::optional<Model> read_onnx(const std::string& path, base::Diagnostics& diags,
                               std::int64_t most_values = kMaxElements);

// The same of bytes in memory, 2 GiB at most, by a name for messages.
std::optional<Model> read_onnx_bytes(std::string_view bytes, const std::string& name, base::Diagnostics& diags,
                                     std::int64_t most_values = kMaxElements);

// A tensor in a file of its own, as `input_0.pb` beside published models.
std::optional<Tensor> read_onnx_tensor(const std::string& path, base::Diagnostics& diags);

// Why this build reads no ONNX files; empty where it does.
std::string onnx_refusal();

}  // namespace tilescope::graph
