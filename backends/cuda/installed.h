// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of the software of GPUs this machine has.

#include <string>

namespace tilescope::cuda {

struct Installed {
  bool present = false;
  std::string detail;  // which and where, or why it is absent, in a sentence
};

Installed installed_nvrtc();
// The driver, its version and the GPUs that it finds.
Installed installed_driver();
Installed installed_cublas();
Installed installed_cudnn();
// What shows the machine code of chips before sm_75: the release of NVRTC that still compiles for them, and nvdisasm,
// which prints the code (experiments/studies/machine_code/run).
Installed installed_nvrtc_of_old_chips();
Installed installed_disassembler();

// A compiler of HIP for AMD's GPUs: the first of $HIPCXX, clang++-19 and clang++ that has their instruction set.
struct HipCompiler {
  std::string command;
  std::string refusal;  // why there is none, in a sentence; empty where there is
};
HipCompiler find_hip_compiler();

}  // namespace tilescope::cuda
