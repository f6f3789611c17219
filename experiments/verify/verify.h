// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope verify`: programs on the CPU, as they are emitted: whether they compute what the expression says, and
// whether what they access is what simulator and model count.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/common/progress.h"
#include "experiments/programs/source.h"
#include "experiments/verify/value_errors.h"

namespace tilescope::experiments {

// What all kernels of a program access.
struct AccessTotals {
  std::int64_t requests = 0;     // access instructions of warps to memory
  std::int64_t sectors = 0;      // of the device cache that they touch
  std::int64_t bank_passes = 0;  // of the scratchpad
};

// What the model takes them for; these need not be whole.
struct ModelledAccesses {
  double sectors = 0, bank_passes = 0;
};

struct VerifiedRow {
  std::string id, kind;
  ValueErrors worst_errors;    // of all outputs
  ValueErrors allowed_errors;  // what rounding may come to
  bool values_ok = false;
  bool counters_ok = false;  // emitted text and simulator agree in every count of every access
  AccessTotals kernel, simulator;
  std::optional<ModelledAccesses> model;  // nothing where the chip has no instruction for the program
  std::vector<std::string> errors;
};

// Verifies every program of the source, `jobs` at a time. Nothing where the source has mistakes or the machine cannot
// compile kernels; a program that cannot run is a row with errors.
std::optional<std::vector<VerifiedRow>> verify(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                               const Progress& progress, base::Diagnostics& diags);

// {"rows":[...],"summary":{...}}.
base::Value to_document(const std::vector<VerifiedRow>& rows);

}  // namespace tilescope::experiments
