// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope predict`: predicted times of given programs, one or a batch of thousands.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/errors.h"
#include "api/common/prediction.h"
#include "api/common/progress.h"
#include "api/common/totals.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// One line of a batch: its prediction, or why there is none.
struct PredictedRow {
  std::string id;
  std::string group;
  std::optional<double> measured_us;
  std::optional<Prediction> prediction;
  std::vector<std::string> errors;    // formatted, with file, line and column
  std::optional<std::int64_t> count;  // how often the operator occurs in its suite, if it is of one
  double operations = 0;              // arithmetic operations of the program

  // Predicted over measured, minus one; nullopt without both.
  std::optional<double> error_ratio() const;
};

// Summary of a batch; `errors` is over the rows that have both a predicted and a measured time.
struct BatchSummary {
  std::size_t rows = 0, predicted = 0, failed = 0;
  ErrorStatistics errors;
  std::optional<Totals> total;
};

// Predicts every line of JSON lines (`text`, named `source` in messages) in order, on `jobs` threads; the result does
// not depend on their number. A line that cannot be read becomes a row with errors. A measured program is never refused
// for its size; any other program that does not fit the chip is.
std::vector<PredictedRow> predict_batch(std::string_view text, const std::string& source, const arch::ArchSpec& a,
                                        int jobs, const Progress& progress);

// Totals over the operators of a suite, each by the fastest program of its group; nullopt if no line has a count.
std::optional<Totals> totals_of(const std::vector<PredictedRow>& rows);

BatchSummary summarize(const std::vector<PredictedRow>& rows);

// Parts of the document of `predict --batch --json`, {"rows":[...],"summary":{...}}. They are separate because the rows
// of a long batch are written one by one.
base::Value to_document(const PredictedRow& row);
base::Value to_document(const BatchSummary& summary);

// Predicts one program document (`--program`). Returns nullopt if it has mistakes or does not fit the chip. Adds a note
// if it was made for another chip.
std::optional<Prediction> predict_program(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::api
