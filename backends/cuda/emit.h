// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits kernels as readable CUDA C++. The text is the same for NVRTC, nvcc and the CPU: a prelude that needs no header
// (backends/cuda/prelude.cuh, matrices.cuh, lanes.cuh, staged.cuh, boxes.cuh, box_stores.cuh, clusters.cuh), then the
// kernels. For HIP the prelude has another head (backends/cuda/prelude_hip.cuh).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/tensor_map.h"
#include "lower/kernel.h"

namespace tilescope::cuda {

// How to launch one kernel of the text, and the lines of its copies.
struct EmittedKernel {
  std::string name;  // of the function, unique in the text
  std::int64_t blocks = 1;
  std::int64_t cluster = 1;  // blocks of a cluster
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;    // dynamic
  std::int64_t shared_granule = 1;  // bytes of its smallest element in shared memory; 1 where it has none
  std::vector<int> globals;         // its first parameters, pointers: positions in Module::globals
  std::vector<TensorMap> maps;      // the next parameters, each a CUtensorMap by value
  std::vector<int> scalars;         // its last parameters, positions in Module::scalars
  bool wide_scalars = false;        // scalars are doubles, not floats: the kernel has buffers of f64
  std::vector<int> copy_lines;      // line of the text, from 1, by copy in the order of lower::copies_of
  std::vector<int> box_lines;       // the same by bulk copy
};

struct Emitted {
  std::string text;
  std::size_t kernels_begin = 0;         // position in `text` where head and prelude end
  int kernels_line = 1;                  // line of the text at which the kernels and their definitions begin
  std::vector<std::string> definitions;  // names that are defined before the kernels, for their use only
  std::vector<EmittedKernel> kernels;
};

// The target of the text: NVIDIA's compilers and the CPU, or AMD's compilers. The kernels of both differ only in their
// launch bounds.
enum class Dialect : std::uint8_t { kCuda, kHip };

// What the dialect cannot express, one sentence each; if there is any, the module's text is for the CPU alone.
std::vector<std::string> refusals(const lower::Module& module, Dialect dialect);

// The text of all kernels of a module. Its head is `about` (lines: what is computed) and the launches of the kernels.
Emitted emit(const lower::Module& module, std::string_view about = {}, Dialect dialect = Dialect::kCuda);

// The part of every text between its head and the kernels.
std::string_view prelude();
std::string hip_prelude();
// The part that follows it where a kernel multiplies matrices (backends/cuda/matrices.cuh).
std::string_view matrix_prelude();
// The part that follows where a kernel reduces over lanes (backends/cuda/lanes.cuh).
std::string_view lanes_prelude();
// The part that follows where the matrix or TMA unit reads the scratchpad (backends/cuda/staged.cuh).
std::string_view staged_prelude();
// The parts that follow where a kernel has mbarriers or boxes (backends/cuda/boxes.cuh), and where it stores boxes.
std::string_view boxes_prelude();
std::string_view box_stores_prelude();
std::string_view clusters_prelude();
std::string_view multicast_prelude();

}  // namespace tilescope::cuda
