// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the programs come from that a command works on: constructed for a workload, a program file, or the lines of a
// batch.

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

// A file of kernels may be as long as this.
extern const base::DocumentLimits kKernelFileLimits;

// A program file, a batch or a Kernel document where there is one; else the workload, of which every operator's first
// programs are taken.
struct ProgramSource {
  Workload workload;
  std::size_t top = 1;  // so many of each
  std::optional<NamedText> program, batch, kernels;
};

}  // namespace tilescope::api
