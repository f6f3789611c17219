// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope compare`: predicted, simulated and measured times side by side, with errors and rank correlation.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/common/prediction.h"
#include "api/common/progress.h"
#include "api/common/simulation.h"
#include "api/common/totals.h"
#include "api/compile.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/accuracy/accuracy.h"

namespace tilescope::experiments {

struct CompareOptions {
  api::Search search = api::Search::kRoller;  // search that finds a suite's programs
  bool simulate = false;                      // simulate every compared row in sampled mode; takes seconds per row
  std::optional<api::NamedText> rows;         // times measured by us, instead of published ones
  bool library = false;                       // a suite's times are those of the vendor's fastest library
  std::optional<std::size_t> sample;          // number of rows drawn at random from each group
  std::uint64_t seed = 1;                     // seed of the draw
  api::ProgramFilter programs;                // programs of a batch to compare; the others are left out
  std::size_t min_tiles = 2;                  // least number of block tiles for a group to be ranked
  int jobs = 1;
};

// One compared program, or the reasons why it cannot be compared.
struct ComparedRow {
  std::string id, kind, group;
  std::string tile;  // block tile, with the reduction step: "m=128 n=64 k=8"
  std::optional<double> measured_us;
  std::optional<double> core_mhz;    // of the device during that measurement
  std::optional<double> library_us;  // time of the vendor's fastest library that was measured
  std::string library;               // name of that library
  std::optional<api::Prediction> prediction;
  std::optional<api::Simulation> simulation;
  bool comparable = true;             // false where the line or its time is wrong; else it ranks, last without a time
  std::vector<std::string> errors;    // each with its place
  std::string operator_id;            // the operator of a suite, or the group (without one the id) of a batch's line
  std::optional<std::int64_t> count;  // how often the operator occurs; only for operators of a suite
  double operations = 0;              // arithmetic operations of one occurrence

  std::optional<double> predicted_us() const;
  std::optional<double> simulated_us() const;
  // A time over the measured one, minus one; nullopt without both.
  std::optional<double> error_ratio(const std::optional<double>& us) const;
};

template <class V>
void describe(V& v, base::Is<ComparedRow> auto& r) {
  v.field({"id", "", "The operator's or program's id."}, r.id);
  v.field({"kind", "", "What kind of operator it is."}, base::unless_empty(r.kind));
  v.field({"group", "", "Programs of a group compute the same."}, base::unless_empty(r.group));
  v.field({"tile", "", "Block tile, with the reduction step."}, base::unless_empty(r.tile));
  v.field({"count", "", "How often the operator occurs in its suite."}, r.count);
  v.part(r.prediction);
  v.field({"simulated_us", "us", "Time by the simulator."}, r.simulated_us());
  v.field({"measured_us", "us", "Time on the chip itself."}, r.measured_us);
  v.field({"core_mhz", "MHz", "Clock of the device while the program was measured."}, r.core_mhz);
  v.field({"library", "", "The vendor's library that was the fastest."}, base::unless_empty(r.library));
  v.field({"library_us", "us", "Time of that library."}, r.library_us);
  v.field({"error_ratio", "", "Predicted over measured, minus one."}, r.error_ratio(r.predicted_us()));
  v.field({"simulated_error_ratio", "", "Simulated over measured, minus one."}, r.error_ratio(r.simulated_us()));
  v.field({"error", "", "Why the program cannot be compared."}, base::unless_empty(r.errors));
}

struct Comparison {
  std::vector<ComparedRow> rows;
  std::size_t left_out = 0;  // rows that the options left out
  std::size_t min_tiles = 2;
  std::string measured;  // of a suite: the source of the measured times
};

// Accuracy of one kind of time against another over some rows.
struct AccuracyOfKind {
  std::string kind;
  std::optional<Accuracy> predicted, simulated, model;
};

template <class V>
void describe(V& v, base::Is<AccuracyOfKind> auto& k) {
  v.field({"kind", "", "The kind of operator, or all."}, k.kind);
  v.object({"predicted", "", "Predicted against measured times."}, k.predicted);
  v.object({"simulated", "", "Simulated against measured times."}, k.simulated);
  v.object({"model", "", "Predicted against simulated times."}, k.model);
}

// Compares each program's predicted time with its measured time. For a batch, each line is compared with its
// measured_us, or only with its simulation where it has none. For a suite, which is one group, the best of ten programs
// for each operator is compared with the time published for it on this chip or measured by us. Lines with an invalid
// time, lines with neither time nor simulation, and groups of a single program become rows with errors. Returns nullopt
// where the source as a whole has mistakes.
std::optional<Comparison> compare(const api::ProgramSource& source, const arch::ArchSpec& a,
                                  const CompareOptions& options, const api::Progress& progress,
                                  base::Diagnostics& diags);

// Total times of a suite's operators. Where several lines of a batch are programs for one operator, the fastest of its
// group counts. With `simulated`, times are simulated ones, and each operator's bound is the largest share of stall
// cycles. Returns nullopt where no row has a count.
std::optional<api::Totals> totals_of(const Comparison& c, bool simulated);

// Accuracy by kind of operator in alphabetical order, then for all kinds together.
std::vector<AccuracyOfKind> accuracy_by_kind(const Comparison& c);

// What follows the rows in a document: {"rows":[...],"summary":{...}}.
base::Value summary_of(const Comparison& c);

}  // namespace tilescope::experiments
