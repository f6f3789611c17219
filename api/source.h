// SPDX-License-Identifier: Apache-2.0
#pragma once
// The source of the programs that a command works on: a workload to construct them for, a program file, the lines of a
// batch, or a Kernel document.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "api/compile.h"
#include "base/document.h"

namespace tilescope::api {

struct NamedText {
  std::string name, text;  // of a file
};

// Which programs of a batch are taken; others are left out.
struct ProgramFilter {
  std::int64_t min_threads = 1;                  // of a block
  std::optional<std::int64_t> max_accumulators;  // of a thread
};

// Limits of a file with a Kernel document.
extern const base::DocumentLimits kKernelFileLimits;

// A program file, a batch or a Kernel document, if one is set; else the workload, with the first programs of every
// operator.
struct ProgramSource {
  Workload workload;
  std::size_t top = 1;  // programs of each operator
  std::optional<NamedText> program, batch, kernels;
};

}  // namespace tilescope::api
