// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope verify`: programs on the CPU, as they are emitted or as cores that exchange run them: whether they compute
// what the expression says, and whether what they do is what simulator and model count.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/common/progress.h"
#include "api/source.h"
#include "api/verify/value_errors.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// What inputs, and outputs that are compared where not all are, are drawn with.
inline constexpr unsigned kVerifySeed = 1;

// Amounts by name: of a GPU's kernels requests, sectors and bank passes; of cores that exchange bytes and points.
using VerifiedAmounts = std::vector<std::pair<std::string, double>>;

struct VerifiedRow {
  std::string id, kind;
  ValueErrors worst_errors;                // of all outputs
  ValueErrors allowed_errors;              // what rounding may come to
  std::int64_t compared = 0, outputs = 0;  // elements of outputs: compared with plain loops, and all there are
  bool values_ok = false;
  bool counters_ok = false;  // what runs and the simulator agree in every count
  VerifiedAmounts run, simulator;
  std::optional<VerifiedAmounts> model;  // those that it knows; nothing where it has no time for the program
  std::vector<std::string> errors;
};

// Verifies every program of the source, `jobs` at a time. Nothing where the source has mistakes or the machine cannot
// compile kernels; a program that cannot run is a row with errors.
std::optional<std::vector<VerifiedRow>> verify(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                               const Progress& progress, base::Diagnostics& diags);

// What runs: the kernel, or the machine of cores that exchange.
std::string runs_of(const arch::ArchSpec& a);

// {"rows":[...],"summary":{...}}.
base::Value to_document(const std::vector<VerifiedRow>& rows, const std::string& runs);

}  // namespace tilescope::api
