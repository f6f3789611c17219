// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes of tensors as PTX's bulk copies transfer them: their contents, and the places of their pieces.

#include <vector>

// NOLINTBEGIN: the name and what it holds are those of backends/cuda/tma.cuh.
struct tilescope_tensor_map {
  const void* begin;
  int element_bytes, swizzled_row, dims;
  long long extent[5], stride[5], box[5];
};
// NOLINTEND

namespace tilescope::cuda::host {

inline constexpr int kPiece = 16;  // bytes that swizzling keeps together

// A run of neighbouring bytes of the box that lie in the tensor.
struct BoxRun {
  const char* from = nullptr;   // in the tensor
  long long to = 0, bytes = 0;  // in the box
};

struct Box {
  long long bytes = 0;
  std::vector<BoxRun> runs;  // bytes outside all runs are zero
};

// The box that begins at `at`, innermost coordinate first.
Box box_of(const tilescope_tensor_map& tensor, const int* at);

// Stores the box that lies in the scratchpad from `from` on to the tensor, and reports it to the watch.
void store(const tilescope_tensor_map& tensor, const int* at, const char* from);

// Why no bulk copy can transfer a box between the tensor and the address `to` (PTX ISA, "Tensors"; CUDA driver API,
// cuTensorMapEncodeTiled); null where one can.
const char* refusal_of(const tilescope_tensor_map& tensor, int dims, const void* to);

// The address of the piece that would lie at `linear` without swizzling.
char* piece_at(const tilescope_tensor_map& tensor, void* linear);

}  // namespace tilescope::cuda::host
