// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/option.h"
#include "experiments/objectives/stored.h"
#include "experiments/sweep/detail/runner.h"
#include "experiments/sweep/detail/space.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;

// The spec with that objective alone, and no constraint on results; false after an error.
bool take_objective(SweepSpec& spec, const std::string& asked, Diagnostics& diags) {
  base::Value text(asked);
  if (spec.objectives)
    for (const StoredObjective& o : spec.objectives->asked.objectives)
      if (o.name == asked) text = base::Value(o.formula);
  const std::string written = *text.get_if<std::string>();
  const std::string name = base::option("objective");
  text.at = {diags.add_source(name), 1, 1};
  base::Value list(base::List{std::move(text)});
  spec.objectives.reset();
  read_objectives(&list, nullptr, {name, "", written, 1, diags}, spec);
  return diags.ok();
}

// The places of a design in a space: of the axes with several values, the others stand at their only one.
class Design {
 public:
  Design(const DesignSpace& space, const SensitivityRequest& request) : space_(space), numbers_(space) {
    for (std::size_t a = 0; a < space.sizes.size(); ++a)
      if (space.sizes[a] > 1) axes_.push_back(a);
    rows_ = saltelli_design(request.samples, axes_.size(), request.seed);
  }

  const std::vector<std::size_t>& axes() const { return axes_; }

  // The design of each row; the number of designs where a constraint leaves it out.
  std::vector<std::size_t> a() const { return places(rows_.a); }
  std::vector<std::size_t> b() const { return places(rows_.b); }
  std::vector<std::size_t> ab(std::size_t axis) const { return places(rows_.mixed(axis)); }
  std::size_t of(const DesignIndex& index) const { return numbers_.of(index); }

 private:
  std::vector<std::size_t> places(const std::vector<std::vector<double>>& rows) const {
    std::vector<std::size_t> out;
    for (const auto& row : rows) {
      DesignIndex index(space_.sizes.size());
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        const std::size_t size = space_.sizes[axes_[i]];
        index[axes_[i]] = std::min(static_cast<std::size_t>(row[i] * static_cast<double>(size)), size - 1);
      }
      out.push_back(numbers_.of(index));
    }
    return out;
  }

  const DesignSpace& space_;
  DesignNumbers numbers_;
  std::vector<std::size_t> axes_;
  SaltelliDesign rows_;
};

// The axis of the file behind an axis of the space; null for the choices of a base and of programs.
const SweepAxis* axis_of(const SweepSpec& spec, std::size_t space_axis) {
  std::size_t at = 0;
  for (const SweepAxis& a : spec.axes)
    if (!a.equals && ++at == space_axis) return &a;
  return nullptr;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The point of the grid that is closest to the first base: of every axis of numbers the closest one by ratio.
DesignIndex centre_of(const SweepSpec& spec, const DesignSpace& space) {
  DesignIndex out(space.sizes.size());
  for (std::size_t a = 1; a + 1 < space.sizes.size(); ++a) {
    const SweepAxis& axis = *axis_of(spec, a);
    const auto base = spec.bases.front().value_at(axis.paths.front()).number;
    double closest = 0;
    for (std::size_t v = 0; base && v < axis.values.size(); ++v) {
      const auto number = axis.values[v].front().number;
      const double off = number && *number > 0 ? std::abs(std::log(*number / *base)) : kInfinity;
      if (v == 0 || off < closest) out[a] = v, closest = off;
    }
  }
  return out;
}

// Two neighbours of the centre along an axis of numbers.
std::optional<std::pair<DesignIndex, DesignIndex>> around(const DesignIndex& centre, const DesignSpace& space,
                                                          std::size_t axis) {
  if (!space.ordered[axis]) return std::nullopt;
  std::pair out(centre, centre);
  if (centre[axis] > 0) --out.first[axis];
  if (centre[axis] + 1 < space.sizes[axis]) ++out.second[axis];
  return out;
}

using Values = std::map<std::size_t, double>;  // of the objective, by design

// The values of the rows of which all points have one.
SaltelliValues values_of(const Design& design, const Values& values) {
  std::vector<std::vector<std::size_t>> all = {design.a(), design.b()};
  for (std::size_t i = 0; i < design.axes().size(); ++i) all.push_back(design.ab(i));
  SaltelliValues out;
  out.ab.resize(design.axes().size());
  for (std::size_t r = 0; r < all.front().size(); ++r) {
    if (!std::all_of(all.begin(), all.end(), [&](const auto& designs) { return values.contains(designs[r]); }))
      continue;
    out.a.push_back(values.at(all[0][r]));
    out.b.push_back(values.at(all[1][r]));
    for (std::size_t i = 0; i < out.ab.size(); ++i) out.ab[i].push_back(values.at(all[i + 2][r]));
  }
  return out;
}

std::optional<Values> stored_values(const std::string& path, const SweepSpec& spec, Diagnostics& diags) {
  const auto store = Store::open(path, diags);
  if (!store) return std::nullopt;
  Values out;
  for (const StoredSweep& sweep : store->sweeps()) {
    if (sweep.title != spec.title) continue;
    const std::vector<StoredPoint> points = store->points(sweep);
    const std::vector<Judgement> judgements = judgements_of(*store, sweep);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (!points[i].is_base && judgements[i].values.front())
        out[points[i].ordinal - spec.bases.size()] = *judgements[i].values.front();
  }
  return out;
}

std::string name_of_axis(const SweepSpec& spec, std::size_t axis) {
  if (axis == 0) return std::string(kBaseAxis);
  const SweepAxis* a = axis_of(spec, axis);
  return a == nullptr ? std::string(kProgramsAxis) : fmt::format("{}", fmt::join(a->paths, ", "));
}

void add_elasticity(AxisSensitivity& out, const SweepAxis& axis, std::size_t place, const DesignIndex& low,
                    const DesignIndex& high, const Design& design, const Values& values) {
  const StoredValue &from = axis.values[low[place]].front(), &to = axis.values[high[place]].front();
  const auto at_low = values.find(design.of(low)), at_high = values.find(design.of(high));
  if (at_low == values.end() || at_high == values.end()) return;
  const bool has_logarithms = at_low->second > 0 && at_high->second > 0 && *from.number > 0 && *to.number > 0;
  if (!has_logarithms || *from.number == *to.number) return;
  out.elasticity = std::log(at_high->second / at_low->second) / std::log(*to.number / *from.number);
  out.from = from.text;
  out.to = to.text;
}

}  // namespace

std::optional<Sensitivity> sensitivity(const SensitivityRequest& request, const std::function<bool()>& stop,
                                       const std::function<void(const SweepProgress&)>& tell, Diagnostics& diags) {
  auto spec = read_sweep(request.sweep.file, request.sweep.jobs, diags);
  if (!spec || !take_objective(*spec, request.objective, diags)) return std::nullopt;
  spec->title += fmt::format(" (sensitivity of {})", request.objective);
  spec->choice.by = PointChoice::By::kListed;
  spec->choice.listed_as = fmt::format("sensitivity, {} samples, seed {}", request.samples, request.seed);
  spec->multi_fidelity.reset();
  const auto points = plan(*spec, {{}, request.sweep.jobs, stop}, diags);
  if (!points) return std::nullopt;
  const DesignSpace space = space_of(*spec, *points);
  const Design design(space, request);
  if (design.axes().empty()) {
    diags.error(spec->axes_at, "no axis has more than one value; add values to see what depends on them");
    return std::nullopt;
  }
  const DesignIndex centre = centre_of(*spec, space);
  std::set<std::size_t> listed;
  for (const auto& designs : {design.a(), design.b()}) listed.insert(designs.begin(), designs.end());
  for (std::size_t i = 0; i < design.axes().size(); ++i) {
    const auto designs = design.ab(i);
    listed.insert(designs.begin(), designs.end());
    if (const auto pair = around(centre, space, design.axes()[i]))
      for (const DesignIndex& index : {pair->first, pair->second}) listed.insert(design.of(index));
  }
  if (listed.contains(space.designs.size())) {
    diags.error(spec->constraints_at,
                "sensitivity takes every combination of the axes' values, and a constraint on paths leaves some out; "
                "leave it out, or tie the axes");
    return std::nullopt;
  }
  spec->choice.listed.assign(listed.begin(), listed.end());
  auto run = run_sweep(&*spec, request.sweep, stop, tell, diags);
  const auto values = run && run->planned ? stored_values(request.sweep.store, *spec, diags) : std::nullopt;
  if (!values) return std::nullopt;

  Sensitivity out;
  out.objective = shown(spec->objectives->asked.objectives.front());
  out.objective.name = request.objective;
  out.points = listed.size();
  out.rows = request.samples;
  out.run = std::move(*run);
  const std::size_t middle = design.of(centre);
  out.centre = middle < space.designs.size() ? place_of(points->points[middle + spec->bases.size()].point, points->axes)
                                             : std::string();
  const SaltelliValues known = values_of(design, *values);
  out.lost = request.samples - known.a.size();
  if (known.a.size() < 2) return out;
  double sum = 0, squares = 0;
  for (const auto* rows : {&known.a, &known.b})
    for (const double v : *rows) sum += v * out.objective.factor;
  const auto n = static_cast<double>(2 * known.a.size());
  out.mean = sum / n;
  for (const auto* rows : {&known.a, &known.b})
    for (const double v : *rows) squares += std::pow(v * out.objective.factor - out.mean, 2);
  out.deviation = std::sqrt(squares / (n - 1));
  const std::vector<SobolIndex> indices = sobol_indices(known, request.seed);
  for (std::size_t i = 0; i < design.axes().size(); ++i) {
    const std::size_t axis = design.axes()[i];
    AxisSensitivity& a =
        out.axes.emplace_back(AxisSensitivity{name_of_axis(*spec, axis), space.sizes[axis], {}, {}, {}, indices[i]});
    if (const auto pair = around(centre, space, axis))
      add_elasticity(a, *axis_of(*spec, axis), axis, pair->first, pair->second, design, *values);
  }
  std::stable_sort(out.axes.begin(), out.axes.end(),
                   [](const auto& a, const auto& b) { return a.index.total > b.index.total; });
  return out;
}

base::Value to_document(const Sensitivity& s) {
  const auto interval = [](const Interval& i) { return base::List{i.low, i.high}; };
  base::List axes;
  for (const AxisSensitivity& a : s.axes)
    axes.emplace_back(base::Map{{"axis", a.axis},
                                {"values", a.values},
                                {"elasticity", a.elasticity},
                                {"from", base::unless_empty(a.from)},
                                {"to", base::unless_empty(a.to)},
                                {"first_order", a.index.first},
                                {"first_order_interval", interval(a.index.first_interval)},
                                {"total", a.index.total},
                                {"total_interval", interval(a.index.total_interval)}});
  return base::Map{{"objective", s.objective.name},
                   {"unit", base::unless_empty(s.objective.unit)},
                   {"points", s.points},
                   {"rows", s.rows},
                   {"rows_lost", s.lost},
                   {"mean", s.mean},
                   {"deviation", s.deviation},
                   {"centre", s.centre},
                   {"axes", std::move(axes)}};
}

}  // namespace tilescope::experiments
