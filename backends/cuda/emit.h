// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels as CUDA C++ that one enjoys reading. The text is the same for NVRTC, nvcc and the CPU: a prelude that needs
// no header (backends/cuda/prelude.cuh, matrices.cuh, lanes.cuh, staged.cuh, boxes.cuh, box_stores.cuh), then the
// kernels. For HIP the prelude has another head (backends/cuda/prelude_hip.cuh).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/tensor_map.h"
#include "lower/kernel.h"

namespace tilescope::cuda {

// How one kernel of the text is launched, and where its copies stand.
struct EmittedKernel {
  std::string name;  // of the function, and of no other one in the text
  std::int64_t blocks = 1;
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;    // dynamic
  std::int64_t shared_granule = 1;  // bytes of its smallest element in shared memory; 1 where it has none
  std::vector<int> globals;         // its first parameters, positions in Module::globals: pointers
  std::vector<TensorMap> maps;      // the parameters after those, each a CUtensorMap by value
  std::vector<int> scalars;         // its last parameters, positions in Module::scalars
  bool wide_scalars = false;        // they are doubles, not floats: the kernel has buffers of f64
  std::vector<int> copy_lines;      // by copy in the order of lower::copies_of: its line of the text, from 1
  std::vector<int> box_lines;       // likewise by bulk copy
};

struct Emitted {
  std::string text;
  std::size_t kernels_begin = 0;  // where head and prelude end
  int kernels_line = 1;           // the line of the text at which the kernels begin, and what is defined for them
  std::vector<std::string> definitions;  // names of what is defined before the kernels and for them alone
  std::vector<EmittedKernel> kernels;
};

// What the text is for: NVIDIA's compilers and the CPU, or AMD's. Kernels of both are the same but for their bounds.
enum class Dialect : std::uint8_t { kCuda, kHip };

// What a dialect has no words for, a sentence each; such a module's text is for the CPU alone.
std::vector<std::string> refusals(const lower::Module& module, Dialect dialect);

// The text of all kernels of a module, headed by `about` (lines: what is computed) and by how the kernels are launched.
Emitted emit(const lower::Module& module, std::string_view about = {}, Dialect dialect = Dialect::kCuda);

// What stands before the kernels of every text, after its head.
std::string_view prelude();
std::string hip_prelude();
// What follows it where a kernel multiplies matrices (backends/cuda/matrices.cuh).
std::string_view matrix_prelude();
// Reductions over lanes.
std::string_view lanes_prelude();
// What follows where the matrix or TMA unit reads the scratchpad (backends/cuda/staged.cuh).
std::string_view staged_prelude();
// What follows where a kernel has mbarriers or boxes (backends/cuda/boxes.cuh), and where it stores boxes.
std::string_view boxes_prelude();
std::string_view box_stores_prelude();

}  // namespace tilescope::cuda
