// SPDX-License-Identifier: Apache-2.0
#include "api/predict.h"

#include <algorithm>
#include <mutex>

#include "api/common/parallel.h"
#include "api/from_model.h"
#include "api/given.h"
#include "api/operator_kind.h"
#include "targets/target.h"

namespace tilescope::api {
namespace {

// What one thread keeps while it works through its share of the lines.
class LinePredictor {
 public:
  LinePredictor(const std::string& source, const arch::ArchSpec& a)
      : source_(source), reader_(source, a), arch_(a), estimate_(targets::target_of(a).estimate(a)) {}

  PredictedRow predict(std::string_view line, std::size_t number) {
    GivenProgram given = reader_.read(line, number);
    PredictedRow row;
    row.id = std::move(given.id);
    row.group = std::move(given.group);
    row.measured_us = given.measured_us;
    row.errors = std::move(given.errors);
    row.count = given.count;
    if (!given.program) return row;
    row.operations = operations_of(*given.program);
    base::Diagnostics diags;
    diags.add_source(source_);  // whose the places are
    if (const auto estimate = estimate_(*given.program, &diags, given.places))
      row.prediction = prediction_of(*estimate, arch_, *given.program);
    base::append(row.errors, diags.formatted_errors());
    return row;
  }

 private:
  const std::string& source_;
  LineReader reader_;
  const arch::ArchSpec& arch_;
  targets::Estimator estimate_;
};

}  // namespace

std::optional<double> PredictedRow::error_ratio() const {
  if (!prediction || !measured_us) return std::nullopt;
  return prediction->predicted_us / *measured_us - 1;
}

std::vector<PredictedRow> predict_batch(std::string_view text, const std::string& source, const arch::ArchSpec& a,
                                        int jobs, const Progress& progress) {
  const std::vector<std::pair<std::size_t, std::string_view>> lines = batch_lines(text);
  std::vector<PredictedRow> rows(lines.size());
  constexpr std::size_t kChunk = 256;
  std::mutex one_at_a_time;
  std::size_t done = 0;
  parallel_for((lines.size() + kChunk - 1) / kChunk, jobs, [&] {
    return [&, predictor = LinePredictor(source, a)](std::size_t chunk) mutable {
      const std::size_t first = chunk * kChunk, last = std::min(first + kChunk, lines.size());
      for (std::size_t i = first; i < last; ++i) rows[i] = predictor.predict(lines[i].second, lines[i].first);
      const std::lock_guard lock(one_at_a_time);
      done += last - first;
      progress(done, lines.size());
    };
  });
  return rows;
}

TimedOperator timed(const PredictedRow& r) {
  TimedOperator out{r.count.value_or(1), {}, r.operations, {}};
  if (!r.prediction) return out;
  out.us = r.prediction->predicted_us;
  out.bound_by = r.prediction->bottleneck;
  return out;
}

BatchSummary summarize(const std::vector<PredictedRow>& rows) {
  BatchSummary s;
  s.rows = rows.size();
  std::vector<double> errors;
  for (const PredictedRow& r : rows) {
    s.predicted += r.prediction.has_value();
    s.failed += !r.errors.empty();
    if (const auto e = r.error_ratio()) errors.push_back(*e);
  }
  s.errors = statistics_of(errors);
  s.total = totals_of(counted_programs(rows));
  return s;
}

std::optional<Prediction> predict_program(const NamedText& file, const arch::ArchSpec& a, base::Diagnostics& diags) {
  tile::ProgramPlaces places;
  const auto program = read_program_file(file, a, diags, &places);
  if (!program) return std::nullopt;
  const auto estimate = targets::target_of(a).estimate(a)(*program, &diags, places);
  if (!estimate) return std::nullopt;
  return prediction_of(*estimate, a, *program);
}

}  // namespace tilescope::api
