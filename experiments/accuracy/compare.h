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
  api::Search search = api::Search::kRoller;  // of a suite's programs
  bool simulate = false;                      // every compared row, sampled; takes seconds a row
  std::optional<api::NamedText> rows;         // times measured by us, in place of published ones
  std::optional<std::size_t> sample;          // so many rows of each group, drawn at random
  std::uint64_t seed = 1;                     // of the draw
  api::ProgramFilter programs;                // of a batch, the others are left out
  std::size_t min_tiles = 2;                  // block tiles of a group that is ranked
  int jobs = 1;
};

// One program, or why it cannot be compared.
struct ComparedRow {
  std::string id, kind, group;
  std::string tile;  // block tile, with the reduction step: "m=128 n=64 k=8"
  std::optional<double> measured_us;
  std::optional<double> core_mhz;    // of the device while that was measured
  std::optional<double> library_us;  // of the vendor's fastest library that was measured
  std::string library;               // which it is
  std::optional<api::Prediction> prediction;
  std::optional<api::Simulation> simulation;
  bool comparable = true;             // false where the line or its time is wrong; else it ranks, last without a time
  std::vector<std::string> errors;    // each with its place
  std::string operator_id;            // of a suite, or the group of a batch's line
  std::optional<std::int64_t> count;  // how often the operator occurs, of those of a suite
  double operations = 0;              // arithmetic ones of one occurrence

  std::optional<double> predicted_us() const;
  std::optional<double> simulated_us() const;
};

struct Comparison {
  std::vector<ComparedRow> rows;
  std::size_t left_out = 0;  // rows that the options left out
  std::size_t min_tiles = 2;
  std::string measured;  // where the measured times are from, of a suite
};

// How well one kind of time stands to another over some rows.
struct AccuracyOfKind {
  std::string kind;                              // "all" of all
  std::optional<Accuracy> predicted, simulated;  // against measured
  std::optional<Accuracy> model;                 // predicted against simulated
};

// Compares every line of a batch with its measured_us, or with its simulation alone where it has none, or the best
// program of ten of each operator of a suite, which is one group, with the times published for it on this chip or
// measured by us. Lines without a time above 0, and groups of a single program, are rows with errors. Nothing where the
// source has mistakes as a whole.
std::optional<Comparison> compare(const api::ProgramSource& source, const arch::ArchSpec& a,
                                  const CompareOptions& options, const api::Progress& progress,
                                  base::Diagnostics& diags);

// What the operators of a suite take together, each by the fastest of its group where lines of a batch are of several
// programs of one; nothing where no row has a count. `simulated`: by the simulator, and by what most of its cycles
// go to.
std::optional<api::Totals> totals_of(const Comparison& c, bool simulated);

// By kind of operator in alphabetical order, and all at the end.
std::vector<AccuracyOfKind> accuracy_by_kind(const Comparison& c);

// The parts of {"rows":[...],"summary":{...}}, apart because rows are many.
base::Value to_document(const ComparedRow& row);
base::Value summary_of(const Comparison& c);

}  // namespace tilescope::experiments
