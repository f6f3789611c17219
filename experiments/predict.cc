#include "experiments/predict.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/from_model.h"
#include "experiments/parallel.h"
#include "tile/fit.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// What one thread keeps while it works through its share of the lines.
class LinePredictor {
 public:
  LinePredictor(const std::string& source, const arch::ArchSpec& a)
      : source_(source), arch_(a), machine_(model::make_machine(a)) {}

  PredictedRow predict(std::string_view line, std::size_t number) {
    base::Diagnostics diags;
    const base::SourceId source = diags.add_source(source_);
    const auto line_number = static_cast<std::uint32_t>(number);
    PredictedRow row;
    const auto value = base::read_json_line(line, source, line_number, diags);
    const auto read = value ? tile::read_batch_line(*value, arch_, spaces_, diags) : std::nullopt;
    if (!read) {
      const base::Value* id = value ? value->find("id") : nullptr;
      if (const std::string* text = id == nullptr ? nullptr : id->get_if<std::string>()) row.id = *text;
      row.errors = diags.formatted_errors();
      return row;
    }
    row.id = read->id;
    row.group = read->group;
    row.measured_us = read->measured_us;
    // What has run fits, whatever is known here of how it was laid out.
    if (!row.measured_us)
      for (const std::string& limit : tile::exceeded_limits(read->program, arch_))
        row.errors.push_back(fmt::format("{}:{}: {}", source_, number, limit));
    if (!row.errors.empty()) return row;
    if (const auto estimate = model::estimate_stage(read->program, machine_))
      row.prediction = prediction_of(*estimate, arch_);
    else
      row.errors.push_back(fmt::format("{}:{}: {}", source_, number, no_instruction_for(read->program)));
    return row;
  }

 private:
  std::string no_instruction_for(const tile::StageProgram& p) const {
    return no_instruction(arch_, p.space->expression.dtype, p.space->expression.accumulate);
  }

  const std::string& source_;
  const arch::ArchSpec& arch_;
  model::Machine machine_;
  tile::SpaceCache spaces_;
};

}  // namespace

std::optional<double> PredictedRow::error_ratio() const {
  if (!prediction || !measured_us) return std::nullopt;
  return prediction->predicted_us / *measured_us - 1;
}

std::vector<PredictedRow> predict_batch(std::string_view text, const std::string& source, const arch::ArchSpec& a,
                                        int jobs, const Progress& progress) {
  std::vector<std::pair<std::size_t, std::string_view>> lines;
  const std::vector<std::string_view> all = lines_of(text);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!blank(all[i])) lines.emplace_back(i + 1, all[i]);

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
  return s;
}

base::Value to_document(const PredictedRow& r) {
  base::Map row = {{"id", r.id, {}}};
  if (!r.group.empty()) row.push_back({"group", r.group, {}});
  if (r.prediction)
    for (base::Entry& e : to_entries(*r.prediction)) row.push_back(std::move(e));
  if (r.measured_us) row.push_back({"measured_us", *r.measured_us, {}});
  if (const auto e = r.error_ratio()) row.push_back({"error_ratio", *e, {}});
  if (!r.errors.empty()) row.push_back({"error", fmt::format("{}", fmt::join(r.errors, "\n")), {}});
  return row;
}

base::Value to_document(const BatchSummary& s) {
  base::Map summary = {{"rows", static_cast<std::int64_t>(s.rows), {}},
                       {"predicted", static_cast<std::int64_t>(s.predicted), {}},
                       {"failed", static_cast<std::int64_t>(s.failed), {}},
                       {"compared", static_cast<std::int64_t>(s.errors.compared), {}}};
  if (s.errors.compared > 0) {
    summary.push_back({"mape_ratio", s.errors.mape_ratio, {}});
    summary.push_back({"median_error_ratio", s.errors.median_error_ratio, {}});
    summary.push_back({"bias_ratio", s.errors.bias_ratio, {}});
  }
  return summary;
}

std::optional<Prediction> predict_program(std::string_view text, const std::string& source, const arch::ArchSpec& a,
                                          base::Diagnostics& diags) {
  const base::SourceId id = diags.add_source(source);
  const auto document = base::read_json(text, id, diags);
  const auto program = document ? tile::read_program(*document, a, diags) : std::nullopt;
  if (!program) return std::nullopt;
  if (!program->arch.empty() && program->arch != a.name)
    diags.note({id}, fmt::format("made for {}, predicted on {}", program->arch, a.name));
  const auto stage_name = [&](std::size_t s) {
    return program->stages.size() > 1 ? fmt::format("stage {}: ", s + 1) : std::string();
  };
  for (std::size_t s = 0; s < program->stages.size(); ++s)
    for (const std::string& limit : tile::exceeded_limits(program->stages[s], a))
      diags.error({id}, stage_name(s) + limit);
  if (!diags.ok()) return std::nullopt;
  const model::Machine machine = model::make_machine(a);
  const auto estimate = model::estimate(*program, machine);
  if (!estimate) {
    for (std::size_t s = 0; s < program->stages.size(); ++s) {
      const expr::Expression& e = program->stages[s].space->expression;
      if (!model::arithmetic_of(machine, e.dtype, e.accumulate))
        diags.error({id}, stage_name(s) + no_instruction(a, e.dtype, e.accumulate));
    }
    return std::nullopt;
  }
  return prediction_of(estimate->sum, a);
}

}  // namespace tilescope::experiments
