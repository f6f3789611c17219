#pragma once
// Kernels as CUDA C++ that one enjoys reading. The text is the same for NVRTC, nvcc and the CPU: a prelude that needs
// no header (backends/cuda/prelude.cuh), then the kernels.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  std::vector<int> scalars;         // its last parameters, positions in Module::scalars: floats
  std::vector<int> copy_lines;      // by copy in the order of lower::copies_of: its line of the text, from 1
};

struct Emitted {
  std::string text;
  std::size_t kernels_begin = 0;  // where head and prelude end
  int kernels_line = 1;           // the line of the text at which the kernels begin
  std::vector<EmittedKernel> kernels;
};

// The text of all kernels of a module, headed by `about` (lines: what is computed) and by how the kernels are launched.
Emitted emit(const lower::Module& module, std::string_view about = {});

// What stands before the kernels of every text, after its head.
std::string_view prelude();

}  // namespace tilescope::cuda
