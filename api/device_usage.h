// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resources that programs take according to the chip's own compiler. `tilescope compile --nvrtc` shows them next to
// those that construction assumed.

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
  std::int64_t registers = 0;     // 32-bit registers of a thread
  std::int64_t spill_bytes = 0;   // of a thread: spill stores plus spill loads
  std::int64_t shared_bytes = 0;  // of a block
};

// Resources of a program on one target.
struct DeviceUsage {
  std::string target;  // sm_80
  std::vector<KernelUse> kernels;
  std::int64_t assumed_shared_bytes = 0;  // of a block, of the stage that needs most

  // The maximum over the kernels; spill_bytes is the sum.
  std::int64_t registers() const;
  std::int64_t spill_bytes() const;
  std::int64_t shared_bytes() const;
};

// Why this machine cannot compile programs for the chip, in a sentence; empty if it can.
std::string no_device_compiler(const arch::ArchSpec& a);

// Compiles every program for the chip's target, `jobs` at a time, and adds its resources to it, or why it cannot be
// compiled. Requires that no_device_compiler is empty.
void add_device_usage(std::vector<CompiledOperator>& operators, const arch::ArchSpec& a, int jobs,
                      const Progress& progress);

base::Value to_document(const DeviceUsage& usage);

}  // namespace tilescope::api
