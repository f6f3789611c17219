// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope simulate`: times of programs by the simulator, beside what the model predicts.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/errors.h"
#include "api/common/prediction.h"
#include "api/common/progress.h"
#include "api/common/simulation.h"
#include "api/common/totals.h"
#include "api/simulate/timeline.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

enum class SimulationMode { kFull, kSampled, kScaled };
// What commands and files call them, in their order.
inline constexpr std::array<std::string_view, 3> kSimulationModes = {"full", "sampled", "scaled"};

// The simulator's own.
std::int64_t default_scale();

// How much of a program is simulated, and of kScaled on how much of the chip.
struct SimulationHow {
  SimulationHow(SimulationMode m, std::int64_t one_of = default_scale()) : mode(m), scale(one_of) {}
  SimulationMode mode;
  std::int64_t scale;
};

// Why the chip cannot be simulated so, as an error at --scale, or at --mode where its class has no such part.
bool check_scale(const SimulationHow& how, const arch::ArchSpec& a, base::Diagnostics& diags);

struct SimulatedRow {
  std::string id, kind, group;
  std::optional<double> measured_us;
  std::optional<double> predicted_us;
  std::optional<TimeBand> predicted_band;
  std::optional<Simulation> simulation;
  double cpu_seconds = 0;      // of the worker process
  std::size_t peak_bytes = 0;  // of its resident memory
  bool readable = true;        // false where there is no program: the errors are those of its document
  std::vector<std::string> errors;
  std::optional<double> timeline_until_us;  // where the timeline is full
  std::optional<std::int64_t> count;        // how often the operator occurs, of those of a suite
  double operations = 0;                    // arithmetic ones of one occurrence

  // Predicted over simulated, minus one; nothing without both.
  std::optional<double> model_error_ratio() const;
};

// Simulates every program of the source, each in a worker process, `jobs` at a time; the result does not depend on
// their number. Nothing where the source has mistakes; a program that cannot run is a row with errors. A timeline, of
// the first program, is a file that is whole or not there.
std::optional<std::vector<SimulatedRow>> simulate(const ProgramSource& source, const arch::ArchSpec& a,
                                                  const SimulationHow& how, int jobs,
                                                  const std::optional<TimelineRequest>& timeline,
                                                  const Progress& progress, base::Diagnostics& diags);

// What the operators take together, by the simulator, each by the fastest of its group where lines of a batch are of
// several programs of one; nothing where no row has a count.
std::optional<Totals> totals_of(const std::vector<SimulatedRow>& rows);

// Errors of the model against the simulator.
std::vector<ErrorsOfKind> model_errors_by_kind(const std::vector<SimulatedRow>& rows);

// {"operators":[...],"total":{...}} of a workload or a program; {"rows":[...],"summary":{...}} of a batch.
base::Value to_document(const std::vector<SimulatedRow>& rows, bool batch);

}  // namespace tilescope::api
