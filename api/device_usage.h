// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resources that programs take according to the chip's own compiler. `tilescope compile --nvrtc` shows them next to
// those that construction assumed.

#include <cstdint>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "arch/spec.h"
#include "base/describe.h"

namespace tilescope::api {

struct CompiledOperator;

struct KernelUse {
  std::string name;
  std::int64_t registers = 0, spill_bytes = 0, shared_bytes = 0;
};

template <class V>
void describe(V& v, base::Is<KernelUse> auto& k) {
  v.field({"name", "", "Name of the kernel."}, k.name);
  v.field({"registers", "", "32-bit registers of a thread."}, k.registers);
  v.field({"spill_bytes", "B", "Spill stores plus spill loads of a thread."}, k.spill_bytes);
  v.field({"shared_bytes", "B", "Shared memory of a block."}, k.shared_bytes);
}

// Resources of a program on one target.
struct DeviceUsage {
  std::string target;  // sm_80
  std::vector<KernelUse> kernels;
  std::int64_t assumed_shared_bytes = 0;  // of the stage that needs most

  std::int64_t registers() const;
  std::int64_t spill_bytes() const;
  std::int64_t shared_bytes() const;
};

template <class V>
void describe(V& v, base::Is<DeviceUsage> auto& u) {
  v.field({"target", "", "What the chip's compiler compiled for."}, u.target);
  v.field({"registers", "", "Registers of a thread by the chip's compiler: of all kernels the most."}, u.registers());
  v.field({"spill_bytes", "B", "Bytes of registers that it moves to local memory, of all kernels."}, u.spill_bytes());
  v.field({"shared_bytes", "B", "Shared memory of a block: of all kernels the most."}, u.shared_bytes());
  v.field({"assumed_shared_bytes", "B", "Shared memory of a block that the model assumes."}, u.assumed_shared_bytes);
  v.list({"kernels", "", "The same of each kernel."}, u.kernels);
}

// Why this machine cannot compile programs for the chip, in a sentence; empty if it can.
std::string no_device_compiler(const arch::ArchSpec& a);

// Compiles every program for the chip's target, `jobs` at a time, and adds its resources to it, or why it cannot be
// compiled. Requires that no_device_compiler is empty.
void add_device_usage(std::vector<CompiledOperator>& operators, const arch::ArchSpec& a, int jobs,
                      const Progress& progress);

}  // namespace tilescope::api
