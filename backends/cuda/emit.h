// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits kernels as readable CUDA C++, HIP, or C++ for the CPU. The kernels are the same text for all of them, but for
// launch bounds; before them stand the definitions that they need (backends/cuda/detail/prelude.h).

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
  std::int64_t tensor_bytes = 0;    // of tensor memory, which the CPU has behind the scratchpad
  std::int64_t shared_granule = 1;  // bytes of its smallest element in shared memory; 1 where it has none
  std::vector<int> globals;         // its first parameters, pointers: positions in Module::globals
  std::vector<TensorMap> maps;      // the next parameters, each a CUtensorMap by value
  std::vector<int> scalars;         // its last parameters, positions in Module::scalars
  bool wide_scalars = false;        // scalars are doubles, not floats: the kernel has buffers of f64
  std::vector<int> copy_lines;      // line of the text, from 1, by copy in the order of lower::copies_of
  std::vector<int> box_lines;       // the same by bulk copy
};

struct Emitted {
  std::string text;               // head, definitions and kernels
  std::size_t kernels_begin = 0;  // position in `text` where the kernels begin
  int kernels_line = 1;           // of the text
  std::vector<EmittedKernel> kernels;
  // Names that are defined for these kernels alone, and these definitions for the CPU.
  std::vector<std::string> definitions;
  std::string cpu_definitions;

  std::string_view kernels_text() const { return std::string_view(text).substr(kernels_begin); }
};

// The target of the text: NVIDIA's compilers, AMD's compilers, or a C++20 compiler for the CPU.
enum class Dialect : std::uint8_t { kCuda, kHip, kCpu };

// What the dialect cannot express, one sentence each; if there is any, the module's text is for the CPU alone.
std::vector<std::string> refusals(const lower::Module& module, Dialect dialect);

// The text of all kernels of a module. Its head is `about` and the launches of the kernels.
Emitted emit(const lower::Module& module, std::string_view about = {}, Dialect dialect = Dialect::kCuda);

}  // namespace tilescope::cuda
