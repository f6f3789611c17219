// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program on its way to a GPU: lowered, emitted, and compiled by the chip's own compiler, with what that took.

#include <optional>
#include <string>
#include <vector>

#include "api/device_usage.h"
#include "arch/spec.h"
#include "backends/cuda/emit.h"
#include "backends/cuda/nvrtc.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::api {

struct ProgramCode {
  lower::Module module;
  cuda::Emitted emitted;
  std::string cubin;
  DeviceUsage usage;
};

// What stands at the head of a program's text: its stages' expressions, a line each.
std::string about(const tile::RProgram& p);

// For the chip's target, which it has and the compiler knows. A kernel that spills at the registers which the program
// states is compiled with more of them, as far as that helps. Nothing where the program cannot run on the chip or the
// compiler refuses its text; errors then say so.
std::optional<ProgramCode> code_of(const tile::RProgram& p, const arch::ArchSpec& a,
                                   const cuda::DeviceCompiler& compiler, base::Diagnostics& diags, base::Position at);

}  // namespace tilescope::api
