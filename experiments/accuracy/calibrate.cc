// SPDX-License-Identifier: Apache-2.0
#include "experiments/accuracy/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "api/from_model.h"
#include "api/given.h"
#include "api/operator_kind.h"
#include "arch/derive.h"
#include "arch/key.h"
#include "model/common/estimate.h"
#include "model/common/fit.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

constexpr std::size_t kFolds = 5;
constexpr std::size_t kMinShapes = 5;  // of a band
constexpr std::size_t kChunk = 256;

// A program that ran, and for how long.
struct Sample {
  tile::RProgram program;
  std::string kind, group, shape;
  double measured_us = 0;
};

// What a stage computes, however it is cut.
std::string shape_of(const expr::Expression& e) {
  std::string out = fmt::format("{} {} {}", e.stages.front().text, base::name_of(e.dtype), base::name_of(e.accumulate));
  for (const expr::Axis& axis : e.stages.front().axes) out += fmt::format(" {}={}", axis.name, axis.size);
  return out;
}

std::vector<Sample> read_samples(const api::NamedText& batch, const arch::ArchSpec& a, int jobs, CalibrationRun& run) {
  const targets::Estimator estimate = targets::target_of(a).estimate(a);
  std::vector<Sample> out;
  for (api::GivenProgram& g : api::read_measured(batch, a, jobs)) {
    base::Diagnostics diags;
    if (g.errors.empty()) estimate(*g.program, &diags, base::Position{diags.add_source(g.place)});
    base::append(g.errors, diags.formatted_errors());
    if (g.errors.empty() && g.program->stages() > 1)
      g.errors.push_back(
          fmt::format("{}: a program of {} nodes; ratios are fitted to single ones", g.place, g.program->stages()));
    run.refused.insert(run.refused.end(), g.errors.begin(), g.errors.end());
    if (!g.errors.empty()) continue;
    if (!takes(run.programs, *g.program)) {
      ++run.left_out;
      continue;
    }
    const expr::Expression& e = g.program->space(0).expression;
    Sample s{{}, api::kind_of(e), std::move(g.group), shape_of(e), *g.measured_us};
    // A row of no group stands for itself.
    if (s.group.empty()) s.group = "\n" + g.place;
    s.program = std::move(*g.program);
    out.push_back(std::move(s));
  }
  return out;
}

base::Dtype dtype_of(const Sample& s) { return s.program.space(0).expression.dtype; }

// What rows weigh: all of a group together as much as any other group.
struct Grouping {
  std::vector<std::size_t> group;  // of each row, a number
  std::vector<double> weights;
};

Grouping group_rows(const std::vector<Sample>& samples, std::span<const std::size_t> rows) {
  Grouping out;
  std::map<std::string, std::size_t> numbers;
  std::vector<double> sizes;
  for (const std::size_t row : rows) {
    out.group.push_back(numbers.try_emplace(samples[row].group, numbers.size()).first->second);
    sizes.resize(numbers.size());
    sizes[out.group.back()] += 1;
  }
  for (const std::size_t group : out.group) out.weights.push_back(1 / sizes[group]);
  return out;
}

// Predictions of samples with any ratios.
class Predictor {
 public:
  Predictor(const std::vector<Sample>& samples, const arch::ArchSpec& a, std::vector<std::string> names, int jobs)
      : samples_(samples), arch_(a), names_(std::move(names)), jobs_(jobs) {}

  const std::vector<std::string>& names() const { return names_; }
  std::vector<double> ratios() const {
    std::vector<double> out;
    for (const std::string& name : names_) out.push_back(arch::ratio_of(arch_, name));
    return out;
  }

  // Logarithms of predicted over measured time of those rows.
  std::vector<double> residuals(std::span<const std::size_t> rows, const std::vector<double>& ratios) const {
    arch::ArchSpec a = arch_;
    for (std::size_t i = 0; i < names_.size(); ++i) a.calibration[names_[i]].ratio = ratios[i];
    const targets::Estimator estimate = targets::target_of(a).estimate(a);
    std::vector<double> out(rows.size());
    api::parallel_for((rows.size() + kChunk - 1) / kChunk, jobs_, [&] {
      return [&](std::size_t chunk) {
        const std::size_t last = std::min((chunk + 1) * kChunk, rows.size());
        for (std::size_t i = chunk * kChunk; i < last; ++i) {
          const Sample& s = samples_[rows[i]];
          out[i] = std::log(estimate(s.program, nullptr, {})->total_us / s.measured_us);
        }
      };
    });
    return out;
  }

  model::Fit fit(std::span<const std::size_t> rows) const {
    model::FitProblem p;
    for (const double ratio : ratios()) p.start.push_back(std::log(ratio));
    p.least = std::log(kMinRatio);
    p.most = std::log(kMaxRatio);
    Grouping grouping = group_rows(samples_, rows);
    p.weights = std::move(grouping.weights);
    p.cluster = std::move(grouping.group);
    p.residuals = [&](const std::vector<double>& logs) { return residuals(rows, exp_of(logs)); };
    return model::fit(p);
  }

  static std::vector<double> exp_of(std::vector<double> logs) {
    for (double& v : logs) v = std::exp(v);
    return logs;
  }

  // What a fit says, as files and tables say it: in four digits. Ratios that are not identified stay exactly as they
  // are.
  std::vector<double> ratios_of(const model::Fit& fit) const {
    std::vector<double> out = ratios();
    for (std::size_t i = 0; i < out.size(); ++i)
      if (fit.parameters[i].verdict == model::Verdict::kIdentified)
        out[i] = std::round(std::exp(fit.parameters[i].value) * 1e4) / 1e4;
    return out;
  }

 private:
  const std::vector<Sample>& samples_;
  const arch::ArchSpec& arch_;
  std::vector<std::string> names_;
  int jobs_;
};

std::vector<std::size_t> all_of(std::size_t n) {
  std::vector<std::size_t> out(n);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

std::set<std::string> shapes_of(const std::vector<Sample>& samples) {
  std::set<std::string> out;
  for (const Sample& s : samples) out.insert(s.shape);
  return out;
}

// In an order that is the same on every machine.
std::vector<std::string> shuffled(const std::set<std::string>& shapes, std::mt19937_64& random) {
  std::vector<std::string> out(shapes.begin(), shapes.end());
  for (std::size_t n = out.size(); n > 1; --n) std::swap(out[n - 1], out[random() % n]);
  return out;
}

// The fold of each shape, dealt after a shuffle.
std::map<std::string, std::size_t> folds_of(const std::vector<Sample>& samples, std::size_t folds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::string> shapes = shuffled(shapes_of(samples), random);
  std::map<std::string, std::size_t> out;
  for (std::size_t i = 0; i < shapes.size(); ++i) out[shapes[i]] = i % folds;
  return out;
}

// Every second shape, dealt kind by kind after a shuffle of each, so that a kind's two halves differ by one at most.
std::set<std::string> half_of_shapes(const std::vector<Sample>& samples, std::uint64_t seed) {
  std::map<std::string, std::set<std::string>> kinds;
  for (const Sample& s : samples) kinds[s.kind].insert(s.shape);
  std::mt19937_64 random(seed);
  std::set<std::string> out;
  std::size_t dealt = 0;
  for (const auto& [kind, shapes] : kinds)
    for (std::string& shape : shuffled(shapes, random))
      if (dealt++ % 2 == 1) out.insert(std::move(shape));
  return out;
}

// Of every row, predicted over measured, minus one, with ratios fitted to the other shapes.
std::vector<double> held_out_errors(const std::vector<Sample>& samples, const Predictor& predictor, std::size_t folds,
                                    std::uint64_t seed, const api::Progress& progress) {
  const std::map<std::string, std::size_t> fold = folds_of(samples, folds, seed);
  std::vector<double> out(samples.size());
  for (std::size_t f = 0; f < folds; ++f) {
    std::vector<std::size_t> fitted, held;
    for (std::size_t i = 0; i < samples.size(); ++i) (fold.at(samples[i].shape) == f ? held : fitted).push_back(i);
    const std::vector<double> logs = predictor.residuals(held, predictor.ratios_of(predictor.fit(fitted)));
    for (std::size_t i = 0; i < held.size(); ++i) out[held[i]] = std::expm1(logs[i]);
    progress(f + 2, folds + 1);
  }
  return out;
}

std::vector<HeldOut> by_kind(const std::vector<Sample>& samples, const std::vector<double>& before,
                             const std::vector<double>& after) {
  std::vector<api::ErrorOfKind> of_before, of_after;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    of_before.push_back({samples[i].kind, before[i]});
    of_after.push_back({samples[i].kind, after[i]});
  }
  const std::vector<api::ErrorsOfKind> b = errors_by_kind(of_before), c = errors_by_kind(of_after);
  std::vector<HeldOut> out;
  for (std::size_t i = 0; i < b.size(); ++i) out.push_back({b[i].kind, b[i].errors, c[i].errors});
  return out;
}

// Measured over predicted times.
struct Ratios {
  std::vector<api::Weighted> values;
  std::set<std::string> shapes;
};

BandCheck checked(const Ratios& rows, double low, double high) {
  double inside = 0, sum = 0;
  for (const auto& [ratio, weight] : rows.values) {
    sum += weight;
    if (low <= ratio && ratio <= high) inside += weight;
  }
  return {inside / sum, rows.values.size(), rows.shapes.size()};
}

// Of every element type: of every kind that has enough shapes, alphabetically, and of all; from predicted over measured
// time, minus one. Bands are fitted to the shapes that are not in `check`, and checked on the others.
std::vector<BandOfKind> bands_of(const std::vector<Sample>& samples, const std::vector<double>& errors,
                                 const std::set<std::string>& check = {}) {
  struct Rows {
    Ratios fitted, checked;
  };
  std::map<base::Dtype, std::pair<std::map<std::string, Rows>, Rows>> dtypes;
  const std::vector<double> weights = group_rows(samples, all_of(samples.size())).weights;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto& [kinds, all] = dtypes[dtype_of(samples[i])];
    for (Rows* rows : {&kinds[samples[i].kind], &all}) {
      Ratios& half = check.contains(samples[i].shape) ? rows->checked : rows->fitted;
      half.values.push_back({1 / (1 + errors[i]), weights[i]});
      half.shapes.insert(samples[i].shape);
    }
  }
  std::vector<BandOfKind> out;
  const auto add = [&](std::string kind, base::Dtype dtype, const Rows& rows) {
    // A check says what a band of few shapes is worth.
    const bool enough = check.empty() ? rows.fitted.shapes.size() >= kMinShapes
                                      : !rows.fitted.shapes.empty() && !rows.checked.shapes.empty();
    if (!enough) return;
    BandOfKind band{std::move(kind),
                    dtype,
                    api::quantile_of(rows.fitted.values, 0.1),
                    api::quantile_of(rows.fitted.values, 0.9),
                    rows.fitted.values.size(),
                    rows.fitted.shapes.size(),
                    std::nullopt};
    if (!check.empty()) band.check = checked(rows.checked, band.low, band.high);
    out.push_back(std::move(band));
  };
  for (const auto& [dtype, rows_of] : dtypes) {
    for (const auto& [kind, rows] : rows_of.first) add(kind, dtype, rows);
    add(std::string(arch::kAllOperators), dtype, rows_of.second);
  }
  return out;
}

std::string why_not(const model::FittedParameter& p) {
  switch (p.verdict) {
    case model::Verdict::kIdentified:
      return {};
    case model::Verdict::kNoResponse:
      return p.response == 0 ? "no row's time depends on it" : "the rows' times hardly depend on it";
    case model::Verdict::kUncertain:
      return std::isfinite(p.standard_error) ? fmt::format("its standard error is {:.0f} %", 100 * p.standard_error)
                                             : "too few groups, or other ratios explain the rows as well";
    case model::Verdict::kAtBound:
      return fmt::format("the rows ask for a ratio outside of {} to {}", kMinRatio, kMaxRatio);
  }
  return {};
}

// The median error of rows whose time follows the ratio by more than half; of all where those are few.
std::optional<double> residual_of(const std::vector<double>& slopes, const std::vector<double>& errors) {
  constexpr std::size_t kFew = 10;
  std::vector<double> bound;
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (std::abs(slopes[i]) > 0.5) bound.push_back(errors[i]);
  if (errors.empty()) return std::nullopt;
  return api::statistics_of(bound.size() < kFew ? errors : bound).median_error_ratio;
}

}  // namespace

bool CalibrationRun::any() const {
  return std::any_of(ratios.begin(), ratios.end(), [](const CalibratedRatio& r) { return r.identified; });
}

CalibrationRun calibrate(const api::NamedText& batch, const arch::ArchSpec& a, const CalibrateOptions& options,
                         const api::Progress& progress) {
  CalibrationRun run;
  run.method = options.bands_only ? CalibrationMethod::kBandsOnly : CalibrationMethod::kFit;
  run.file = batch.name;
  run.seed = options.seed;
  run.programs = options.programs;
  const std::vector<Sample> samples = read_samples(batch, a, options.jobs, run);
  run.rows = samples.size();
  if (samples.empty()) return run;
  std::set<std::string> groups;
  for (const Sample& s : samples) groups.insert(s.group);
  run.groups = groups.size();
  run.shapes = shapes_of(samples).size();
  const Predictor predictor(samples, a, targets::target_of(a).ratios(a), options.jobs);
  const std::vector<std::size_t> all = all_of(samples.size());
  std::vector<double> before = predictor.residuals(all, predictor.ratios());
  for (double& e : before) e = std::expm1(e);
  if (options.bands_only) {
    run.bands = options.check_bands ? bands_of(samples, before, half_of_shapes(samples, options.seed))
                                    : bands_of(samples, before);
    return run;
  }

  run.folds = run.shapes < 2 ? 0 : std::min(kFolds, run.shapes);
  const model::Fit fit = predictor.fit(all);
  progress(1, run.folds + 1);
  std::vector<double> after;
  if (run.folds > 0) {
    after = held_out_errors(samples, predictor, run.folds, options.seed, progress);
    run.held_out = by_kind(samples, before, after);
  }
  const std::vector<double> was = predictor.ratios(), is = predictor.ratios_of(fit);
  for (std::size_t i = 0; i < is.size(); ++i) {
    const model::FittedParameter& p = fit.parameters[i];
    CalibratedRatio r{predictor.names()[i], was[i], is[i], {}, p.response, false, why_not(p), {}, {}};
    r.identified = p.verdict == model::Verdict::kIdentified;
    if (std::isfinite(p.standard_error)) r.error_ratio = p.standard_error;
    if (r.identified) r.residual = residual_of(fit.slopes[i], after);
    run.ratios.push_back(std::move(r));
  }
  run.bands = bands_of(samples, run.any() && run.folds > 0 ? after : before);
  return run;
}

}  // namespace tilescope::experiments
