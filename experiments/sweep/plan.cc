// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "base/check.h"
#include "base/parse_number.h"
#include "experiments/sweep/state.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::Value;

constexpr std::size_t kMaxCombinations = 20'000'000;

std::string unit_of(const arch::Number* n) {
  return n == nullptr || !n->dimension ? std::string() : std::string(arch::unit_of(*n->dimension));
}

construct::Restrictions restrictions_of(const std::vector<StoredAxis>& axes, const std::vector<StoredValue>& at) {
  construct::Restrictions out;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    std::string_view text = at[a].text;
    if (axes[a].name == kPaddingAxis) out.pads = text == kBest;
    if (axes[a].name != kBlockAxis || text == kBest) continue;
    for (std::size_t x = 0; !text.empty(); text.remove_prefix(std::min(x + 1, text.size()))) {
      x = std::min(text.find('x'), text.size());
      out.block.push_back(*base::parse_integer<std::int64_t>(text.substr(0, x)));
    }
  }
  return out;
}

bool is_path_of_chip(const StoredAxis& a) {
  return a.name != kBaseAxis && a.name != kProgramsAxis && a.name != kPaddingAxis && a.name != kBlockAxis;
}

// Steps through all combinations of values, the last axis fastest.
class Combinations {
 public:
  explicit Combinations(const std::vector<std::size_t>& sizes) : sizes_(sizes), index_(sizes.size(), 0) {}
  const std::vector<std::size_t>& index() const { return index_; }
  bool next() {
    for (std::size_t a = sizes_.size(); a-- > 0;) {
      if (++index_[a] < sizes_[a]) return true;
      index_[a] = 0;
    }
    return false;
  }

 private:
  const std::vector<std::size_t>& sizes_;
  std::vector<std::size_t> index_;
};

class Planner {
 public:
  Planner(const SweepSpec& spec, Diagnostics& diags) : spec_(spec), diags_(diags) {
    add_axes();
    for (std::size_t f = 0; f < spec.axes.size(); ++f)
      if (spec.axes[f].equals) followers_.push_back(formula_of(*spec.axes[f].equals));
    for (const Formula& c : spec.constraints) constraints_.push_back(formula_of(c));
    met_.assign(constraints_.size(), false);
    if (spec.multi_fidelity && spec.multi_fidelity->cost) cost_ = formula_of(*spec.multi_fidelity->cost);
  }

  std::optional<SweepPlan> run(const PlanRequest& request) {
    stop_ = request.stop;
    if (!add_bases() || !add_grid() || !check_evaluations()) return std::nullopt;
    plan_.chips.resize(plan_.requests.size());
    std::vector<std::size_t> asked;
    for (const PlannedPoint& p : plan_.points) {
      const bool mine = !request.shard || p.point.ordinal % request.shard->count == request.shard->index;
      if (spec_.choice.is_planned() ? p.point.is_base : mine) asked.push_back(p.point.ordinal);
    }
    if (!read_chips(spec_, plan_, asked, request)) return std::nullopt;
    if (!accepts_any()) read_until_accepted(request);
    if (stopped() || !accepts_any()) return refuse_all();
    return std::move(plan_);
  }

  std::optional<std::size_t> count() {
    if (!add_bases() || !add_grid()) return std::nullopt;
    return plan_.points.size();
  }

 private:
  void add_axes() {
    std::size_t group = 0;
    const bool bases = spec_.bases.size() > 1;
    if (bases) plan_.axes.push_back({std::string(kBaseAxis), "", group++});
    for (const SweepAxis& a : spec_.axes) {
      for (const std::string& path : a.paths)
        plan_.axes.push_back(
            {path, unit_of(number_at(path, spec_.bases)), a.equals ? std::nullopt : std::optional(group)});
      if (!a.equals) ++group;
    }
    if (spec_.programs.size() > 1) plan_.axes.push_back({std::string(kProgramsAxis), "", group});
    for (const SweepBase& b : spec_.bases) {
      std::vector<StoredValue>& said = said_.emplace_back();
      for (const StoredAxis& a : plan_.axes) said.push_back(is_path_of_chip(a) ? b.value_at(a.name) : StoredValue{});
    }
  }

  // The bases as they are, with programs constructed for them.
  bool add_bases() {
    for (std::size_t b = 0; b < spec_.bases.size(); ++b) {
      std::vector<StoredValue> at;
      for (std::size_t i = 0; i < plan_.axes.size(); ++i) {
        const StoredAxis& a = plan_.axes[i];
        if (a.name == kBaseAxis)
          at.push_back({spec_.bases[b].name, std::nullopt});
        else if (a.name == kProgramsAxis)
          at.push_back({"construct", std::nullopt});
        else if (!is_path_of_chip(a))
          at.push_back({std::string(kBest), std::nullopt});
        else
          at.push_back(said_[b][i]);
      }
      PlannedPoint p;
      p.point = {b, spec_.bases[b].name, true, std::move(at), {}, {}, {}};
      p.base = b;
      // An axis has no number there where the base does not say it; then the base has no cost.
      const auto has_number = [&](const std::optional<std::size_t>& a) { return !a || p.point.at[*a].number; };
      const bool known = cost_ && std::all_of(cost_->axes.begin(), cost_->axes.end(), has_number);
      if (known && !add_cost(p.point, spec_.bases[b])) return false;
      add(std::move(p), {});
    }
    return true;
  }

  bool add_grid() {
    std::vector<std::size_t> sizes = {spec_.bases.size()};
    std::size_t all = sizes.front();
    for (const SweepAxis& a : spec_.axes) {
      if (!a.equals) sizes.push_back(a.values.size());
      if (!a.equals) all *= a.values.size();
      if (all > kMaxCombinations) {
        diags_.error(spec_.axes_at, fmt::format("more than {} combinations of values; take fewer values, or tie axes",
                                                kMaxCombinations));
        return false;
      }
    }
    Combinations combinations(sizes);
    do {
      if (stopped() || !add_combination(combinations.index())) return false;
    } while (combinations.next());
    return check_constraints();
  }

  // The points of one combination, one for each way to come by programs, unless a constraint is not met.
  bool add_combination(const std::vector<std::size_t>& index) {
    const SweepBase& b = spec_.bases[index[0]];
    std::vector<StoredValue> at;
    if (spec_.bases.size() > 1) at.push_back({b.name, std::nullopt});
    std::size_t swept = 0, follower = 0;
    for (const SweepAxis& a : spec_.axes) {
      if (a.equals) {
        const auto value = follow(a, followers_[follower++], b, at);
        if (!value) return false;
        at.push_back(*value);
      } else {
        for (const StoredValue& v : a.values[index[++swept]]) at.push_back(v);
      }
    }
    bool met = true;
    for (std::size_t c = 0; c < constraints_.size(); ++c) {
      const double result = result_of(constraints_[c], b, at);
      const bool this_one = result != 0 && !std::isnan(result);  // what has no value promises nothing
      met_[c] = met_[c] || this_one;
      met = met && this_one;
    }
    if (met && !add_points(index, at)) return false;
    if (std::ssize(plan_.points) <= kMaxPoints) return true;
    diags_.error(spec_.axes_at, fmt::format("more than {} points; take fewer values or constrain them", kMaxPoints));
    return false;
  }

  bool add_points(const std::vector<std::size_t>& index, const std::vector<StoredValue>& at) {
    const std::size_t base = index[0];
    for (std::size_t m = 0; m < spec_.programs.size(); ++m) {
      PlannedPoint p;
      p.point.base = spec_.bases[base].name;
      p.point.at = at;
      if (cost_ && !add_cost(p.point, spec_.bases[base])) return false;
      if (spec_.programs.size() > 1) p.point.at.push_back({spec_.programs[m].name, std::nullopt});
      p.base = base;
      p.programs = m;
      p.index = index;
      p.restrictions = restrictions_of(plan_.axes, p.point.at);
      std::vector<arch::Override> overrides;
      for (std::size_t a = 0; a < plan_.axes.size(); ++a) {
        if (!is_path_of_chip(plan_.axes[a])) continue;
        const std::string& from = said_[base][a].text;
        if (from == at[a].text) continue;  // as the base says it: no change, and no stated peak is dropped
        p.point.differences.push_back({plan_.axes[a].name, from, at[a].text});
        overrides.push_back({plan_.axes[a].name, at[a].text});
      }
      add(std::move(p), std::move(overrides));
    }
    return true;
  }

  // False after an error: the cost is no number at that point.
  bool add_cost(StoredPoint& p, const SweepBase& b) {
    const double cost = result_of(*cost_, b, p.at);
    if (!std::isfinite(cost)) {
      diags_.error(cost_->formula->at(),
                   fmt::format("the cost would be {:.12g} at {}; expected a number", cost, place_of(p.at, plan_.axes)));
      return false;
    }
    p.cost = cost;
    return true;
  }

  void add(PlannedPoint p, std::vector<arch::Override> overrides) {
    std::string key = fmt::format("{}", p.base);
    for (const arch::Override& o : overrides) key += fmt::format("\n{}={}", o.path, o.value);
    const auto [entry, fresh] = chip_numbers_.emplace(std::move(key), plan_.requests.size());
    if (fresh) plan_.requests.push_back({p.base, std::move(overrides), {}, {}, {}, {}});
    p.request = entry->second;
    p.point.ordinal = plan_.points.size();
    plan_.points.push_back(std::move(p));
  }

  // A formula with where its paths' values are: coordinates, or what the base says.
  struct Placed {
    const Formula* formula;
    std::vector<std::optional<std::size_t>> axes;  // of plan_.axes
  };

  Placed formula_of(const Formula& f) const {
    Placed out{&f, {}};
    for (const std::string& path : f.paths()) {
      const auto found =
          std::find_if(plan_.axes.begin(), plan_.axes.end(), [&](const auto& a) { return a.name == path; });
      out.axes.push_back(found == plan_.axes.end() ? std::nullopt : std::optional(found - plan_.axes.begin()));
    }
    return out;
  }

  static double result_of(const Placed& f, const SweepBase& b, const std::vector<StoredValue>& at) {
    std::vector<double> values;
    for (std::size_t p = 0; p < f.axes.size(); ++p) {
      const arch::Number* n = b.number(f.formula->paths()[p]);
      base::check(n != nullptr, "an expression reads numbers that every base has");
      values.push_back(f.axes[p] ? at[*f.axes[p]].number.value() : n->value);
    }
    return f.formula->of(values);
  }

  // The value that a formula gives a path, or nothing after an error.
  std::optional<StoredValue> follow(const SweepAxis& a, const Placed& f, const SweepBase& b,
                                    const std::vector<StoredValue>& at) {
    const arch::Number& n = *number_at(a.paths.front(), spec_.bases);
    const double value = result_of(f, b, at);
    constexpr double kRounding = 1e-9;
    const double kept = n.whole ? std::round(value) : value;
    if (std::isfinite(value) && value > 0 && std::abs(kept - value) <= kRounding * value) return value_of(n, kept);
    diags_.error(a.equals->at(), fmt::format("{} would be {:.12g} at {}; expected {} above 0", n.path, value,
                                             place_of(at, plan_.axes), n.whole ? "a whole number" : "a number"));
    return std::nullopt;
  }

  bool check_constraints() {
    bool each = true;
    for (std::size_t c = 0; c < constraints_.size(); ++c) {
      if (met_[c]) continue;
      each = false;
      diags_.error(constraints_[c].formula->at(),
                   fmt::format("no point meets '{}'; change it or the axes", constraints_[c].formula->text()));
    }
    if (each && plan_.points.size() == spec_.bases.size())
      diags_.error(spec_.constraints_at, "every constraint is met somewhere, but no point meets all of them");
    return diags_.ok();
  }

  bool stopped() const { return stop_ && stop_(); }

  bool check_evaluations() {
    const std::size_t points = plan_.points.size() - spec_.bases.size();
    if (spec_.choice.by != PointChoice::By::kNsga2 || spec_.choice.nsga2.evaluations <= points) return true;
    diags_.error(spec_.choice.evaluations_at,
                 fmt::format("evaluations: {}, and the sweep has {} points; leave `plan` out, and all are judged",
                             spec_.choice.nsga2.evaluations, points));
    return false;
  }

  bool accepts_any() const {
    return std::any_of(plan_.points.begin(), plan_.points.end(),
                       [&](const PlannedPoint& p) { return !p.point.is_base && plan_.chips[p.request] != nullptr; });
  }

  // A sweep none of whose points has a chip is wrong, whichever shard or plan meets it. Points that are read for this
  // alone are not asked.
  void read_until_accepted(const PlanRequest& request) {
    for (PlannedPoint& p : plan_.points) {
      if (p.point.is_base || !plan_.requests[p.request].refused.empty()) continue;
      const bool asked = p.asked;
      if (!read_chips(spec_, plan_, {p.point.ordinal}, request)) return;
      p.asked = asked;
      if (plan_.chips[p.request] != nullptr) return;
    }
  }

  std::optional<SweepPlan> refuse_all() {
    if (stopped()) return std::nullopt;
    std::map<std::string, const StoredPoint*> why;
    for (const PlannedPoint& p : plan_.points)
      if (!p.point.refused.empty()) why.emplace(p.point.refused, &p.point);
    for (const auto& [sentence, point] : why)
      diags_.error(spec_.axes_at,
                   fmt::format("every point is refused; {}: {}", place_of(*point, plan_.axes), sentence));
    return std::nullopt;
  }

  const SweepSpec& spec_;
  Diagnostics& diags_;
  SweepPlan plan_;
  std::vector<std::vector<StoredValue>> said_;  // by each base at each axis that is a path
  std::vector<Placed> followers_, constraints_;
  std::optional<Placed> cost_;
  std::vector<bool> met_;
  std::map<std::string, std::size_t> chip_numbers_;
  std::function<bool()> stop_;
};

void drop(Value& map, std::initializer_list<std::string_view> keys) {
  base::Map* entries = map.get_if<base::Map>();
  if (entries == nullptr) return;
  std::erase_if(*entries, [&](const base::Entry& e) {
    return std::find(keys.begin(), keys.end(), e.key) != keys.end() || e.key.starts_with("peak");
  });
}

template <class Each>
void in_map(Value& document, std::string_view key, const Each& each) {
  Value* child = document.find(key);
  base::Map* entries = child == nullptr ? nullptr : child->get_if<base::Map>();
  if (entries == nullptr) return;
  for (base::Entry& e : *entries) each(e.value);
}

}  // namespace

std::string identity_of(const arch::ArchSpec& a) {
  Value document = arch::to_document(a);
  drop(document, {"title", "vendor", "board", "target", "baselines"});
  if (Value* compute = document.find("compute"); compute != nullptr && compute->is_list())
    for (Value& unit : *compute->get_if<base::List>()) drop(unit, {"derived"});
  in_map(document, "memory", [](Value& level) { drop(level, {"derived"}); });
  in_map(document, "calibration", [](Value& ratio) { drop(ratio, {"source", "residual"}); });
  in_map(document, "error_bands", [](Value& band) { drop(band, {"source", "rows"}); });
  return base::to_json(document);
}

std::optional<SweepPlan> plan(const SweepSpec& spec, const PlanRequest& request, Diagnostics& diags) {
  return Planner(spec, diags).run(request);
}

std::optional<std::size_t> count_points(const SweepSpec& spec, Diagnostics& diags) {
  return Planner(spec, diags).count();
}

}  // namespace tilescope::experiments
