// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the chip's own compiler makes of programs, and `tilescope compile --nvrtc`: that beside what was assumed when
// they were constructed.

#include <cstdint>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "arch/spec.h"
#include "base/document.h"

namespace tilescope::api {

struct CompiledOperator;

struct KernelUse {
  std::string name;
  std::int64_t registers = 0;     // of a thread, 32-bit
  std::int64_t spill_bytes = 0;   // of a thread: that instructions move to local memory and back, each counted once
  std::int64_t shared_bytes = 0;  // of a block
};

// Of a program for one target.
struct DeviceUsage {
  std::string target;  // sm_80
  std::vector<KernelUse> kernels;
  std::int64_t assumed_shared_bytes = 0;  // of a block of the stage that stages most

  // The most that a kernel takes; of spills, all of them.
  std::int64_t registers() const;
  std::int64_t spill_bytes() const;
  std::int64_t shared_bytes() const;
};

// Why programs cannot be compiled for the chip here, in a sentence; empty where they can.
std::string no_device_compiler(const arch::ArchSpec& a);

// Compiles every program for the chip's target, `jobs` at a time, and adds to it what it takes, or why it cannot be
// compiled. Only where there is a compiler.
void add_device_usage(std::vector<CompiledOperator>& operators, const arch::ArchSpec& a, int jobs,
                      const Progress& progress);

base::Value to_document(const DeviceUsage& usage);

}  // namespace tilescope::api
