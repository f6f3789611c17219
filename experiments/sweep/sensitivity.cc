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
#include "experiments/sweep/detail/chooser.h"
#include "experiments/sweep/detail/run.h"

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
  // By row of `a`, the position of its value on the axis of that number.
  std::vector<std::size_t> values_of_a(std::size_t axis) const {
    std::vector<std::size_t> out;
    for (const auto& row : rows_.a) out.push_back(value_at(row, axis));
    return out;
  }
  std::size_t of(const DesignIndex& index) const { return numbers_.of(index); }

 private:
  std::size_t value_at(const std::vector<double>& row, std::size_t axis) const {
    const std::size_t size = space_.sizes[axes_[axis]];
    return std::min(static_cast<std::size_t>(row[axis] * static_cast<double>(size)), size - 1);
  }
  std::vector<std::size_t> places(const std::vector<std::vector<double>>& rows) const {
    std::vector<std::size_t> out;
    for (const auto& row : rows) {
      DesignIndex index(space_.sizes.size());
      for (std::size_t i = 0; i < axes_.size(); ++i) index[axes_[i]] = value_at(row, i);
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

// Whether a value of an axis is the base's own, on all of the axis's paths. Programs of a base are constructed for it.
bool is_of_base(const SweepAxis& axis, const std::vector<StoredValue>& value, const SweepBase& base) {
  for (std::size_t p = 0; p < axis.paths.size(); ++p) {
    if (value[p].text == kBest) continue;
    const StoredValue own = base.value_at(axis.paths[p]);
    if (own.number && value[p].number ? *own.number != *value[p].number : own.text != value[p].text) return false;
  }
  return true;
}

// The point of the grid that is closest to the first base: on every axis the base's value, else of numbers the closest
// by ratio, else the first.
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
    for (std::size_t v = axis.values.size(); v-- > 0;)
      if (is_of_base(axis, axis.values[v], spec.bases.front())) out[a] = v;
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

// The rows of which all points have a value.
struct KnownRows {
  SaltelliValues values;
  std::vector<std::size_t> rows;
};

KnownRows known_rows(const Design& design, const Values& values) {
  std::vector<std::vector<std::size_t>> all = {design.a(), design.b()};
  for (std::size_t i = 0; i < design.axes().size(); ++i) all.push_back(design.ab(i));
  KnownRows known;
  SaltelliValues& out = known.values;
  out.ab.resize(design.axes().size());
  for (std::size_t r = 0; r < all.front().size(); ++r) {
    if (!std::all_of(all.begin(), all.end(), [&](const auto& designs) { return values.contains(designs[r]); }))
      continue;
    out.a.push_back(values.at(all[0][r]));
    out.b.push_back(values.at(all[1][r]));
    for (std::size_t i = 0; i < out.ab.size(); ++i) out.ab[i].push_back(values.at(all[i + 2][r]));
    known.rows.push_back(r);
  }
  return known;
}

std::optional<Values> stored_values(const std::string& path, const SweepSpec& spec, Diagnostics& diags) {
  const auto store = Store::open(path, diags);
  if (!store) return std::nullopt;
  Values out;
  const auto sweep = store->sweep(spec.title);
  if (!sweep) return out;
  const std::vector<StoredPoint> points = store->points(*sweep);
  const std::vector<Judgement> judgements = judgements_of(*store, *sweep);
  for (std::size_t i = 0; i < points.size(); ++i)
    if (!points[i].is_base && judgements[i].values.front())
      out[points[i].ordinal - spec.bases.size()] = *judgements[i].values.front();
  return out;
}

std::string name_of_axis(const SweepSpec& spec, std::size_t axis) {
  if (axis == 0) return std::string(kBaseAxis);
  const SweepAxis* a = axis_of(spec, axis);
  return a == nullptr ? std::string(kProgramsAxis) : fmt::format("{}", fmt::join(a->paths, ", "));
}

std::string value_of_axis(const SweepSpec& spec, std::size_t axis, std::size_t value) {
  if (axis == 0) return spec.bases[value].name;
  const SweepAxis* a = axis_of(spec, axis);
  if (a == nullptr) return spec.programs[value].name;
  std::vector<std::string> texts;
  for (const StoredValue& v : a->values[value]) texts.push_back(v.text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The centre with other values of one axis: the ends of an ordered one, all of a choice.
std::vector<DesignIndex> ends_of(const DesignIndex& centre, const DesignSpace& space, std::size_t axis) {
  std::vector<DesignIndex> out;
  const std::size_t last = space.sizes[axis] - 1;
  for (std::size_t v = 0; v <= last; v += space.ordered[axis] ? last : 1) {
    out.push_back(centre);
    out.back()[axis] = v;
  }
  return out;
}

// "memory.l2.capacity <= 6 MiB": the values of a split, of an axis whose numbers rise or fall.
std::string where_of(const SweepSpec& spec, std::size_t axis, const EffectSplit& split) {
  using Side = EffectSplit::Side;
  const std::string name = name_of_axis(spec, axis), value = value_of_axis(spec, axis, split.value);
  if (split.side == Side::kOnly) return fmt::format("{} = {}", name, value);
  if (split.side == Side::kExcept) return fmt::format("{} other than {}", name, value);
  const SweepAxis& a = *axis_of(spec, axis);
  const bool rises = *a.values.front().front().number < *a.values.back().front().number;
  return fmt::format("{} {} {}", name, (split.side == Side::kUpTo) == rises ? "<=" : ">=", value);
}

std::vector<AxisPair> pairs_of(const SweepSpec& spec, const DesignSpace& space, const Design& design,
                               const KnownRows& known, std::int64_t seed) {
  std::vector<AxisPair> out;
  for (const PairInteraction& p : pair_interactions(known.values, seed)) {
    if (!(p.interval.low > 0)) continue;
    AxisPair& pair = out.emplace_back();
    pair.first = name_of_axis(spec, design.axes()[p.first]);
    pair.second = name_of_axis(spec, design.axes()[p.second]);
    pair.index = p.index;
    pair.interval = p.interval;
    double most = 0;
    for (const auto& [axis, other] : {std::pair(p.first, p.second), std::pair(p.second, p.first)}) {
      std::vector<std::size_t> at;
      const std::vector<std::size_t> all = design.values_of_a(other);
      for (const std::size_t r : known.rows) at.push_back(all[r]);
      const auto split = split_of_effect(known.values, axis, at, space.ordered[design.axes()[other]]);
      if (!split || split->effect - split->rows <= most) continue;
      most = split->effect - split->rows;
      pair.axis = name_of_axis(spec, design.axes()[axis]);
      pair.where = where_of(spec, design.axes()[other], *split);
      pair.effect = split->effect;
      pair.rows = split->rows;
    }
  }
  return out;
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
    for (const DesignIndex& index : ends_of(centre, space, design.axes()[i])) listed.insert(design.of(index));
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
  const auto shown_value = [&](std::size_t number) -> std::optional<double> {
    const auto value = values->find(number);
    return value == values->end() ? std::nullopt : std::optional(value->second * out.objective.factor);
  };
  out.at_centre = shown_value(middle);
  const KnownRows known_in = known_rows(design, *values);
  const SaltelliValues& known = known_in.values;
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
    AxisSensitivity& a = out.axes.emplace_back(
        AxisSensitivity{name_of_axis(*spec, axis), space.sizes[axis], {}, {}, {}, indices[i], {}});
    for (const DesignIndex& end : ends_of(centre, space, axis))
      if (const auto value = shown_value(design.of(end)))
        a.ends.push_back({value_of_axis(*spec, axis, end[axis]), *value});
    if (const auto pair = around(centre, space, axis))
      add_elasticity(a, *axis_of(*spec, axis), axis, pair->first, pair->second, design, *values);
  }
  out.pairs = pairs_of(*spec, space, design, known_in, request.seed);
  std::stable_sort(out.axes.begin(), out.axes.end(),
                   [](const auto& a, const auto& b) { return a.index.total > b.index.total; });
  return out;
}

base::Value to_document(const Sensitivity& s) {
  const auto interval = [](const Interval& i) { return base::List{i.low, i.high}; };
  base::List axes, pairs;
  for (const AxisPair& p : s.pairs) {
    base::Map row = {{"axes", base::List{p.first, p.second}}, {"index", p.index}, {"interval", interval(p.interval)}};
    if (!p.axis.empty())
      base::append(row,
                   base::Map{{"axis", p.axis}, {"where", p.where}, {"effect_ratio", p.effect}, {"rows_ratio", p.rows}});
    pairs.emplace_back(std::move(row));
  }
  const auto ends = [](const AxisSensitivity& a) {
    base::List out;
    for (const AxisSensitivity::End& e : a.ends)
      out.emplace_back(base::Map{{"value", e.value}, {"objective", e.objective}});
    return out;
  };
  for (const AxisSensitivity& a : s.axes)
    axes.emplace_back(base::Map{{"axis", a.axis},
                                {"values", a.values},
                                {"elasticity", a.elasticity},
                                {"from", base::unless_empty(a.from)},
                                {"to", base::unless_empty(a.to)},
                                {"first_order", a.index.first},
                                {"first_order_interval", interval(a.index.first_interval)},
                                {"total", a.index.total},
                                {"total_interval", interval(a.index.total_interval)},
                                {"ends", ends(a)}});
  return base::Map{{"objective", s.objective.name},
                   {"unit", base::unless_empty(s.objective.unit)},
                   {"points", s.points},
                   {"rows", s.rows},
                   {"rows_lost", s.lost},
                   {"mean", s.mean},
                   {"deviation", s.deviation},
                   {"centre", s.centre},
                   {"centre_objective", s.at_centre},
                   {"axes", std::move(axes)},
                   {"pairs", std::move(pairs)}};
}

}  // namespace tilescope::experiments
