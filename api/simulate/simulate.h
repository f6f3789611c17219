// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope simulate`: simulated times of programs, next to the predicted ones.

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
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

enum class SimulationMode { kFull, kSampled, kScaled };
// Names of the modes in commands and files, in the order of the enum.
inline constexpr std::array<std::string_view, 3> kSimulationModes = {"full", "sampled", "scaled"};

// The simulator's default for SimulationHow::scale.
std::int64_t default_scale();

// How much of a program is simulated and, with kScaled, on what part of the chip: one `scale`-th. `judges_limit`: also
// at other clocks, until the one is found that the board's power limit leaves the program.
struct SimulationHow {
  SimulationHow(SimulationMode m, std::int64_t one_of = default_scale()) : mode(m), scale(one_of) {}
  SimulationMode mode;
  std::int64_t scale;
  bool judges_limit = false;
};

// Whether the chip can be simulated this way. If not, adds an error at --scale, or at --mode if no chip of its class
// can be scaled.
bool check_scale(const SimulationHow& how, const arch::ArchSpec& a, base::Diagnostics& diags);

struct SimulatedRow {
  std::string id, kind, group;
  std::optional<double> measured_us;
  std::optional<double> predicted_us;
  std::optional<TimeBand> predicted_band;
  std::optional<Simulation> simulation;
  // In a sequence, where `predicted_us` and `simulation` are of the operator in it: the times alone, after empty
  // caches.
  std::optional<double> cold_predicted_us, cold_simulated_us;
  std::string inputs;          // in a sequence: those that are tensors of earlier operators, "A=up.C"
  double cpu_seconds = 0;      // of the worker process
  std::size_t peak_bytes = 0;  // resident memory of the worker
  bool readable = true;        // false if there is no program; then the errors are those of its document
  std::vector<std::string> errors;
  std::optional<double> timeline_until_us;  // time at which the timeline was full, if it was
  std::optional<std::int64_t> count;        // how often the operator occurs in its suite, if it is of one
  double operations = 0;                    // arithmetic operations of one occurrence

  // Predicted over simulated, minus one; nullopt without both.
  std::optional<double> model_error_ratio() const;
  // Simulated over measured, minus one; nullopt without both.
  std::optional<double> error_ratio() const;
};

template <class V>
void describe(V& v, base::Is<SimulatedRow> auto& r) {
  v.field({"id", "", "The operator's or program's id."}, r.id);
  v.field({"kind", "", "What kind of operator it is."}, base::unless_empty(r.kind));
  v.field({"group", "", "Programs of a group compute the same."}, base::unless_empty(r.group));
  v.field({"count", "", "How often the operator occurs in its suite."}, r.count);
  v.field({"predicted_us", "us", "Time by the model."}, r.predicted_us);
  v.part(r.predicted_band);
  v.part(r.simulation);
  v.field({"inputs", "", "In a sequence: the inputs that are tensors of earlier operators."},
          base::unless_empty(r.inputs));
  v.field({"cold_predicted_us", "us", "Time by the model after empty caches; only in a sequence."},
          r.cold_predicted_us);
  v.field({"cold_simulated_us", "us", "Time by the simulator after empty caches; only in a sequence."},
          r.cold_simulated_us);
  v.field({"measured_us", "us", "Time on the chip itself."}, r.measured_us);
  v.field({"error_ratio", "", "Simulated over measured, minus one."}, r.error_ratio());
  v.field({"error", "", "Why there is no simulation."}, base::unless_empty(r.errors));
}

// The row as an operator of a list, which its longest stall binds.
TimedOperator timed(const SimulatedRow& row);

// Simulates every program of the source, each in a worker process, `jobs` at a time; the result does not depend on
// their number. Returns nullopt if the source has mistakes; a program that cannot run becomes a row with errors. A
// sequence is simulated as a whole, in one worker, and each of its programs alone; where one cannot run, all rows have
// its error in place of times in the sequence. An operator without a program is left out. A timeline is of the first
// program; its file appears complete or not at all.
std::optional<std::vector<SimulatedRow>> simulate(const ProgramSource& source, const arch::ArchSpec& a,
                                                  const SimulationHow& how, int jobs,
                                                  const std::optional<TimelineRequest>& timeline,
                                                  const Progress& progress, base::Diagnostics& diags);

// Simulated totals over the operators. If a batch has several programs of an operator, the fastest of the group counts.
// Returns nullopt if no row has a count.
std::optional<Totals> totals_of(const std::vector<SimulatedRow>& rows);

// Errors of the model against the simulator, by kind of operator.
std::vector<ErrorsOfKind> model_errors_by_kind(const std::vector<SimulatedRow>& rows);

// {"operators":[...],"total":{...}} of a workload or a program; {"rows":[...],"summary":{...}} of a batch.
base::Value to_document(const std::vector<SimulatedRow>& rows, bool batch);

}  // namespace tilescope::api
