// SPDX-License-Identifier: Apache-2.0
#include "experiments/accuracy/compare.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/common/parallel.h"
#include "api/construct.h"
#include "api/from_model.h"
#include "api/given.h"
#include "api/instructions.h"
#include "api/operator_kind.h"
#include "api/simulate/simulate.h"
#include "api/simulate/simulated_programs.h"
#include "api/workload.h"
#include "base/document.h"
#include "base/home.h"
#include "base/option.h"
#include "experiments/accuracy/published.h"
#include "experiments/measure/measure.h"
#include "experiments/measure/rows.h"
#include "expr/work.h"
#include "model/common/estimate.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

// Of the first stage, whatever its class of machines: what a block covers along every axis in one step.
std::string tile_of(const tile::RProgram& p) {
  std::vector<std::string> words;
  const auto& axes = p.space(0).axes;
  std::visit(
      [&](const auto& stages) {
        for (std::size_t a = 0; a < axes.size(); ++a)
          words.push_back(fmt::format("{}={}", axes[a].name, stages.front().block[a]));
      },
      p.nodes);
  return fmt::format("{}", fmt::join(words, " "));
}

// What a batch's line is known by before its program is predicted.
struct Candidate {
  ComparedRow row;
  std::optional<tile::RProgram> program;
  std::string place;
};

std::vector<Candidate> read_lines(const api::NamedText& batch, const arch::ArchSpec& a, const CompareOptions& options) {
  std::vector<Candidate> out;
  for (api::GivenProgram& given : api::read_measured(batch, a, options.jobs, !options.simulate)) {
    Candidate& c = out.emplace_back();
    c.place = std::move(given.place);
    c.row.id = std::move(given.id);
    c.row.group = std::move(given.group);
    c.row.operator_id = c.row.group.empty() ? c.row.id : c.row.group;
    c.row.count = given.count;
    c.row.measured_us = given.measured_us;
    c.row.errors = std::move(given.errors);
    c.row.comparable = c.row.errors.empty();
    if (!c.row.comparable) continue;
    c.row.kind = api::kind_of_whole(*given.program);
    c.row.operations = api::operations_of(*given.program);
    c.row.tile = tile_of(*given.program);
    c.program = std::move(given.program);
  }
  return out;
}

// Of measured rows: what is only simulated has its errors all the same.
void refuse_lone_rows(std::vector<Candidate>& candidates) {
  std::map<std::string, std::size_t> sizes;
  for (const Candidate& c : candidates) sizes[c.row.group] += c.row.errors.empty();
  for (Candidate& c : candidates)
    if (c.row.errors.empty() && c.row.measured_us && sizes[c.row.group] < 2) {
      c.row.comparable = false;
      c.row.errors.push_back(
          fmt::format("{}: group '{}' has one program: nothing to rank it with", c.place, c.row.group));
    }
}

// Keeps what is wanted, and what is wrong: that is told.
void leave_out(std::vector<Candidate>& candidates, const api::ProgramFilter& filter) {
  std::erase_if(candidates, [&](const Candidate& c) { return c.row.errors.empty() && !takes(filter, *c.program); });
}

// Keeps `sample` rows of each group. Groups come in order, so that the draw is the same on every machine.
void draw(std::vector<Candidate>& candidates, std::size_t sample, std::uint64_t seed) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].row.errors.empty()) groups[candidates[i].row.group].push_back(i);
  std::mt19937_64 random(seed);
  std::vector<bool> kept(candidates.size(), true);
  for (auto& [name, members] : groups)
    for (std::size_t n = members.size(); n > sample; --n) {
      const auto out = members.begin() + static_cast<std::ptrdiff_t>(random() % n);
      kept[*out] = false;
      members.erase(out);
    }
  std::vector<Candidate> sampled;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (kept[i]) sampled.push_back(std::move(candidates[i]));
  candidates = std::move(sampled);
}

void predict(std::vector<Candidate>& candidates, const arch::ArchSpec& a, int jobs) {
  const targets::Estimator estimate_of = targets::target_of(a).estimate(a);
  api::parallel_for(candidates.size(), jobs, [&] {
    return [&](std::size_t i) {
      Candidate& c = candidates[i];
      if (!c.row.errors.empty()) return;
      base::Diagnostics diags;
      if (const auto estimate = estimate_of(*c.program, &diags, base::Position{diags.add_source(c.place)}))
        c.row.prediction = api::prediction_of(*estimate, a, *c.program);
      base::append(c.row.errors, diags.formatted_errors());
    };
  });
}

void simulate_rows(std::vector<Candidate>& candidates, const arch::ArchSpec& a, int jobs,
                   const api::Progress& progress) {
  std::vector<const tile::RProgram*> programs;
  std::vector<ComparedRow*> rows;
  for (Candidate& c : candidates)
    if (c.row.errors.empty()) {
      programs.push_back(&*c.program);
      rows.push_back(&c.row);
    }
  std::vector<api::SimulatedProgram> results =
      api::simulate_programs(programs, a, api::SimulationMode::kSampled, jobs, progress);
  for (std::size_t i = 0; i < results.size(); ++i) {
    rows[i]->simulation = std::move(results[i].simulation);
    if (!results[i].error.empty()) rows[i]->errors.push_back(rows[i]->id + ": " + results[i].error);
  }
}

// The rows that are kept with the project of the chip's board; nullopt, without an error, where there are none.
std::optional<api::NamedText> kept_rows_of(const arch::ArchSpec& a, base::Diagnostics& diags) {
  std::string name = a.board.value_or(a.name);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  const std::string path = base::home_path("experiments/data/measured/" + name + ".jsonl");
  if (!std::filesystem::exists(path)) return std::nullopt;
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  auto text = base::read_file(path, diags.add_source(path), diags, {kMostBytes, 64});
  return text ? std::optional(api::NamedText{path, std::move(*text)}) : std::nullopt;
}

// What a suite's rows are compared with: published times, or ours.
struct KnownTimes {
  std::optional<PublishedTimes> published;
  std::optional<MeasuredTimes> measured;
};

// "100 us to 1 ms": libraries are ahead by how long a kernel is.
std::string_view duration_of(double us) {
  return us < 100 ? "below 100 us" : us < 1000 ? "100 us to 1 ms" : "from 1 ms";
}

// The operator's time is the vendor's library's, where one is known.
void take_library(const std::optional<double>& us, Candidate& c) {
  c.row.measured_us = us;
  if (us) c.row.kind += fmt::format(", {}", duration_of(*us));
}

// Adds what is known of an operator, or that nothing is.
void add_times(const KnownTimes& known, const arch::ArchSpec& a, const expr::Expression& e, bool of_library,
               Candidate& c) {
  if (known.measured) {
    const auto library = known.measured->libraries.find(expr::text_of(e));
    if (library != known.measured->libraries.end()) {
      c.row.library = library->second.name;
      c.row.library_us = library->second.us;
    }
    if (of_library) return take_library(c.row.library == name_of(Baseline::kCopy) ? std::nullopt : c.row.library_us, c);
    if (!c.program) return;
    const auto time = known.measured->programs.find(program_hash(*c.program, a));
    if (time != known.measured->programs.end()) {
      c.row.measured_us = time->second.us;
      c.row.core_mhz = time->second.core_mhz;
    } else {
      c.row.errors.push_back(fmt::format("{}: no row is of this program", c.row.id));
    }
  } else if (known.published && of_library) {
    take_library(known.published->us_of(c.row.id, kLibraryColumn), c);
  } else if (known.published) {
    c.row.measured_us = known.published->us_of(c.row.id, kPublishedColumn);
    if (!c.row.measured_us)
      c.row.errors.push_back(fmt::format("{}: no time of {} is published", c.row.id, kPublishedColumn));
  }
}

// Of every operator the best of ten programs. A suite is one group, in which each operator is a tile of its own.
std::vector<Candidate> suite_rows(const std::string& suite, const std::vector<api::NamedExpression>& operators,
                                  const arch::ArchSpec& a, const CompareOptions& options, const KnownTimes& known) {
  constexpr std::size_t kBestOf = 10;
  std::vector<Candidate> out(operators.size());
  api::parallel_for(out.size(), options.jobs, [&] {
    return [&](std::size_t i) {
      const api::NamedExpression& op = operators[i];
      Candidate& c = out[i];
      c.place = c.row.id = c.row.tile = op.id;
      c.row.kind = op.kind;
      c.row.group = suite;
      c.row.operator_id = op.id;
      c.row.count = op.count;
      c.row.operations = expr::operations_of(op.expression);
      base::Diagnostics diags;
      api::Ranked found = api::construct(op.expression, a, {{options.search}, kBestOf});
      if (!found.error.empty()) diags.error({}, std::move(found.error));
      if (auto best = api::best_on(a, targets::target_of(a).estimate(a), found.programs, {}, diags))
        c.program = std::move(best->program);
      else
        c.row.errors.push_back(fmt::format("{}: {}", op.id, diags.sentences().front()));
      add_times(known, a, op.expression, options.library, c);
    };
  });
  return out;
}

// Rows of one kind, or of all.
template <class Ours, class Truth>
std::optional<Accuracy> accuracy_where(const Comparison& c, const std::string* kind, Ours ours, Truth truth) {
  std::vector<PredictedTime> times;
  for (const ComparedRow& r : c.rows) {
    if (kind != nullptr && r.kind != *kind) continue;
    if (const auto t = truth(r)) times.push_back({r.group, r.tile, ours(r), *t});
  }
  if (times.empty()) return std::nullopt;
  return accuracy_of(times, c.min_tiles);
}

AccuracyOfKind accuracy_of_kind(const Comparison& c, const std::string* kind) {
  const auto measured = [](const ComparedRow& r) { return r.comparable ? r.measured_us : std::nullopt; };
  const auto predicted = [](const ComparedRow& r) { return r.predicted_us(); };
  const auto simulated = [](const ComparedRow& r) { return r.simulated_us(); };
  AccuracyOfKind out{kind != nullptr ? *kind : "all", accuracy_where(c, kind, predicted, measured), {}, {}};
  const bool any = std::any_of(c.rows.begin(), c.rows.end(), [](const ComparedRow& r) { return r.simulation; });
  if (any) out.simulated = accuracy_where(c, kind, simulated, measured);
  if (any) out.model = accuracy_where(c, kind, predicted, simulated);
  return out;
}

}  // namespace

std::optional<double> ComparedRow::predicted_us() const {
  return prediction ? std::optional(prediction->predicted_us) : std::nullopt;
}

std::optional<double> ComparedRow::simulated_us() const {
  return simulation ? std::optional(simulation->simulated_us) : std::nullopt;
}

std::optional<double> ComparedRow::error_ratio(const std::optional<double>& us) const {
  return us && measured_us ? std::optional(*us / *measured_us - 1) : std::nullopt;
}

std::optional<Comparison> compare(const api::ProgramSource& source, const arch::ArchSpec& a,
                                  const CompareOptions& options, const api::Progress& progress,
                                  base::Diagnostics& diags) {
  std::vector<Candidate> candidates;
  Comparison out;
  out.min_tiles = options.min_tiles;
  if (source.batch) {
    candidates = read_lines(*source.batch, a, options);
    refuse_lone_rows(candidates);
    const std::size_t all = candidates.size();
    leave_out(candidates, options.programs);
    if (options.sample) draw(candidates, *options.sample, options.seed);
    out.left_out = all - candidates.size();
  } else {
    const std::string suite = source.workload.suite.value_or("");
    KnownTimes known;
    const auto rows = options.library && !options.rows ? kept_rows_of(a, diags) : options.rows;
    if (rows)
      known.measured = times_in(read_kept_rows(*rows, diags), a.name);
    else if (api::computes_f32(source.workload))  // which published times are of
      known.published = load_published(a.name, source.workload, diags);
    if (!known.published && !known.measured && !options.simulate && diags.ok())
      diags.error({},
                  fmt::format("no times of suite '{}' on {} are published with this project; {} it, give {}, or "
                              "compare a {} with measured_us",
                              suite, a.name, base::option("simulate"), base::option("rows"), base::option("batch")));
    const auto operators = api::expressions_of(source.workload, diags);
    if (!diags.ok()) return std::nullopt;
    api::note_instructions(*operators, a, diags);
    if (known.published) out.measured = options.library ? kLibraryColumn : kPublishedColumn;
    if (known.measured) out.measured = rows->name;
    candidates = suite_rows(suite, *operators, a, options, known);
    const auto of_none = [](const Candidate& c) { return !c.row.measured_us; };
    if (options.library) out.left_out = std::erase_if(candidates, of_none);
    if (options.library && candidates.empty()) {
      diags.error({},
                  fmt::format("no time of a library is known of any operator of suite '{}' on {}; give {} rows of the "
                              "libraries (measure --baseline)",
                              suite, a.name, base::option("rows")));
      return std::nullopt;
    }
  }
  predict(candidates, a, options.jobs);
  if (options.simulate) simulate_rows(candidates, a, options.jobs, progress);
  for (Candidate& c : candidates) out.rows.push_back(std::move(c.row));
  return out;
}

std::optional<api::Totals> totals_of(const Comparison& c, bool simulated) {
  std::vector<api::TimedProgram> programs;
  for (const ComparedRow& r : c.rows) {
    if (!r.count) continue;
    api::TimedOperator op{*r.count, simulated ? r.simulated_us() : r.predicted_us(), r.operations, {}};
    if (op.us) op.bound_by = simulated ? api::longest_stall(*r.simulation).name : r.prediction->bottleneck;
    programs.push_back({r.operator_id, std::move(op)});
  }
  auto out = totals_of(programs);
  if (out) out->simulated = simulated;
  return out;
}

std::vector<AccuracyOfKind> accuracy_by_kind(const Comparison& c) {
  std::vector<std::string> kinds;
  for (const ComparedRow& r : c.rows)
    if (!r.kind.empty()) kinds.push_back(r.kind);
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<AccuracyOfKind> out;
  for (const std::string& kind : kinds) out.push_back(accuracy_of_kind(c, &kind));
  out.push_back(accuracy_of_kind(c, nullptr));
  return out;
}

base::Value summary_of(const Comparison& c) {
  const auto failed =
      std::count_if(c.rows.begin(), c.rows.end(), [](const ComparedRow& r) { return !r.errors.empty(); });
  base::Map out = {{"rows", c.rows.size()}, {"failed", failed}, {"left_out", c.left_out}};
  if (!c.measured.empty()) out.push_back({"measured", c.measured});
  out.push_back({"kinds", base::to_list(accuracy_by_kind(c))});
  const bool any_simulated = std::any_of(c.rows.begin(), c.rows.end(), [](const auto& r) { return r.simulation; });
  if (const auto total = totals_of(c, false)) out.push_back({"total", to_entries(*total)});
  if (const auto total = any_simulated ? totals_of(c, true) : std::nullopt)
    out.push_back({"simulated_total", to_entries(*total)});
  return out;
}

}  // namespace tilescope::experiments
