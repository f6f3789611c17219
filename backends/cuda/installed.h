// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPU software that is installed on this machine.

#include <string>

namespace tilescope::cuda {

struct Installed {
  bool present = false;
  std::string detail;  // what is installed and where, or why it is absent, as a sentence
};

Installed installed_nvrtc();
// The driver, its version and the GPUs that it finds.
Installed installed_driver();
Installed installed_cublas();
Installed installed_cudnn();
// Tools that show the machine code of chips before sm_75: the release of NVRTC that still compiles for them, and
// nvdisasm, which prints the code (experiments/studies/machine_code/run).
Installed installed_nvrtc_of_old_chips();
Installed installed_disassembler();

// A compiler of HIP for AMD's GPUs: the first of $HIPCXX, clang++-19 and clang++ that supports their instruction set.
struct HipCompiler {
  std::string command;
  std::string refusal;  // why there is none, as a sentence; empty where there is one
};
HipCompiler find_hip_compiler();

}  // namespace tilescope::cuda
