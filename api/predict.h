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
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// One line of a batch: its prediction, or why there is none.
struct PredictedRow {
  std::string id, group;
  std::optional<double> measured_us;
  std::optional<Prediction> prediction;
  std::vector<std::string> errors;    // formatted, with file, line and column
  std::optional<std::int64_t> count;  // how often the operator occurs in its suite, if it is of one
  double operations = 0;              // arithmetic operations of the program

  // Predicted over measured, minus one; nullopt without both.
  std::optional<double> error_ratio() const;
};

template <class V>
void describe(V& v, base::Is<PredictedRow> auto& r) {
  v.field({"id", "", "The program's id."}, r.id);
  v.field({"group", "", "Programs of a group compute the same."}, base::unless_empty(r.group));
  v.field({"count", "", "How often the operator occurs in its suite."}, r.count);
  v.part(r.prediction);
  v.field({"measured_us", "us", "Time on the chip itself."}, r.measured_us);
  v.field({"error_ratio", "", "Predicted over measured, minus one."}, r.error_ratio());
  v.field({"error", "", "Why there is no prediction."}, base::unless_empty(r.errors));
}

// The row as an operator of a list.
TimedOperator timed(const PredictedRow& row);

// Summary of a batch; `errors` is over the rows that have both a predicted and a measured time.
struct BatchSummary {
  std::size_t rows = 0, predicted = 0, failed = 0;
  ErrorStatistics errors;
  std::optional<Totals> total;
};

template <class V>
void describe(V& v, base::Is<BatchSummary> auto& s) {
  v.field({"rows", "", "Lines of the batch."}, s.rows);
  v.field({"predicted", "", "Lines that have a predicted time."}, s.predicted);
  v.field({"failed", "", "Lines that have errors."}, s.failed);
  v.part(s.errors);
  v.object({"total", "", "Totals over the operators."}, s.total);
}

// Predicts every line of JSON lines (`text`, named `source` in messages) in order, on `jobs` threads; the result does
// not depend on their number. A line that cannot be read becomes a row with errors. A measured program is never refused
// for its size; any other program that does not fit the chip is.
std::vector<PredictedRow> predict_batch(std::string_view text, const std::string& source, const arch::ArchSpec& a,
                                        int jobs, const Progress& progress);

// The summary has totals over the operators of a suite, each by the fastest program of its group, if a line has a
// count.
BatchSummary summarize(const std::vector<PredictedRow>& rows);

// Predicts one program document (`--program`). Returns nullopt if it has mistakes or does not fit the chip. Adds a note
// if it was made for another chip.
std::optional<Prediction> predict_program(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::api
