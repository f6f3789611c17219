// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPU code of a program: lowered, emitted, and compiled by the chip's own compiler, with its resource usage.

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

// The head comment of a program's emitted text: the expressions of its stages, one per line.
std::string about(const tile::RProgram& p);

// Lowers, emits and compiles the program for the chip's target, which must be set and known to the compiler. If a
// kernel spills at the register limit that the program states, higher limits are tried and the code with the fewest
// spilled bytes is kept. Returns nullopt, with errors in `diags`, if the program cannot run on the chip or the compiler
// refuses its text.
std::optional<ProgramCode> code_of(const tile::RProgram& p, const arch::ArchSpec& a,
                                   const cuda::DeviceCompiler& compiler, base::Diagnostics& diags, base::Position at);

}  // namespace tilescope::api
