// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope predict --kernel`: counts what kernels do. There is no predicted time, because the model reads programs,
// not kernels.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// Accesses to the device's memory, as its cache sees them, or to the scratchpad. Transactions are sectors or bank
// passes (lower/counters.h).
struct KernelLevel {
  std::string name;
  std::int64_t read_bytes = 0, written_bytes = 0, requests = 0, transactions = 0;
};

struct KernelCount {
  std::string name;
  double operations = 0;            // arithmetic operations
  bool operations_at_most = false;  // an upper bound, because guards may skip some operations
  std::vector<KernelLevel> levels;
};

// The exact counts of the kernels of a Kernel document; nullopt after errors.
std::optional<std::vector<KernelCount>> count_kernels(const NamedText& file, const arch::ArchSpec& a,
                                                      base::Diagnostics& diags);

// {"kernels":[...],"predicted_us":null}.
base::Value to_document(const std::vector<KernelCount>& kernels);

}  // namespace tilescope::api
