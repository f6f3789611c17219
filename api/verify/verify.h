// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope verify`: runs programs on the CPU, as emitted kernels or on a machine of cores that exchange (class bsp).
// It checks that they compute what the expression says, and that what they do is what simulator and model count.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/common/progress.h"
#include "api/source.h"
#include "api/verify/value_errors.h"
#include "arch/spec.h"
#include "base/describe.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// Seed with which inputs are drawn, and the outputs to compare where not all are compared.
inline constexpr unsigned kVerifySeed = 1;

// Amounts by name: requests, sectors and bank passes of a GPU's kernels; bytes and points of cores that exchange.
using VerifiedAmounts = std::vector<std::pair<std::string, double>>;

struct VerifiedRow {
  std::string id, kind;
  ValueErrors worst_errors;                // of all outputs
  ValueErrors allowed_errors;              // that rounding may cause
  std::int64_t compared = 0, outputs = 0;  // elements of outputs: compared with plain loops, and in total
  bool values_ok = false;
  bool counters_ok = false;  // the run and the simulator agree in every count
  VerifiedAmounts run, simulator;
  std::optional<VerifiedAmounts> model;  // amounts that the model knows; absent if it has no time for the program
  std::vector<std::string> errors;
};

// The amounts are no part of the description: what runs names them.
template <class V>
void describe(V& v, base::Is<VerifiedRow> auto& r) {
  const auto if_it_ran = [&](const auto& value) { return r.errors.empty() ? std::optional(value) : std::nullopt; };
  v.field({"id", "", "The operator's or program's id."}, r.id);
  v.field({"kind", "", "What kind of operator it is."}, base::unless_empty(r.kind));
  v.field({"correct", "", "Whether the run computes what the expression says."}, if_it_ran(r.values_ok));
  v.field({"counters_ok", "", "Whether the run and the simulator agree in every count."}, if_it_ran(r.counters_ok));
  v.field({"compared_outputs", "", "Elements of outputs that were compared with plain loops."}, if_it_ran(r.compared));
  v.field({"outputs", "", "Elements of outputs."}, if_it_ran(r.outputs));
  v.field({"seed", "", "Seed of the inputs and of the outputs that are compared."},
          if_it_ran(std::int64_t{kVerifySeed}));
  v.field({"worst_error_ratio", "", "Greatest difference over the output's greatest value."},
          if_it_ran(r.worst_errors.ratio));
  v.field({"allowed_error_ratio", "", "The same that rounding may cause."}, if_it_ran(r.allowed_errors.ratio));
  v.field({"worst_error_units", "", "Greatest difference of integers."}, if_it_ran(r.worst_errors.units));
  v.field({"allowed_error_units", "", "The same that rounding may cause."}, if_it_ran(r.allowed_errors.units));
  v.field({"error", "", "Why it did not run."}, base::unless_empty(r.errors));
}

// Verifies every program of the source, `jobs` at a time. Returns nullopt if the source has mistakes or the machine
// cannot compile kernels; a program that cannot run becomes a row with errors.
std::optional<std::vector<VerifiedRow>> verify(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                               const Progress& progress, base::Diagnostics& diags);

// Name of what runs: the kernel, or the machine of cores that exchange.
std::string runs_of(const arch::ArchSpec& a);

// {"rows":[...],"summary":{...}}.
base::Value to_document(const std::vector<VerifiedRow>& rows, const std::string& runs);

}  // namespace tilescope::api
