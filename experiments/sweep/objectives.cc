// SPDX-License-Identifier: Apache-2.0
// The objectives, constraints and plan of a sweep's file.

#include "experiments/objectives/objectives.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fields.h"
#include "energy/area.h"
#include "energy/energy.h"
#include "energy/price.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::Value;

class ObjectivesReader {
 public:
  ObjectivesReader(const SweepFile& file, SweepSpec& out) : file_(file), diags_(file.diags), out_(out) {
    for (const std::string_view path : number_paths(out.bases)) names_.push_back(path);
    for (const std::string_view name : quantity_names()) names_.push_back(name);
  }

  void read(const Value* objectives, const Value* constraints) {
    if (const base::List* list = constraints == nullptr ? nullptr : base::as_list(constraints, "constraints", diags_))
      for (const Value& item : *list) read_constraint(item);
    if (const base::List* list = objectives == nullptr ? nullptr : base::as_list(objectives, "objectives", diags_)) {
      for (const Value& item : *list) read_objective(item);
      if (list->empty()) diags_.error(objectives->at, "objectives: none; name one at least, such as time");
    }
    check_contradictions();
    if (asked_.objectives.empty() && asked_.constraints.empty()) return;
    if (asked_.objectives.empty()) asked_.objectives.push_back({"time", "time"});
    out_.objectives = SweepObjectives{std::move(asked_), first_at_, std::move(technology_)};
  }

 private:
  struct Limit {
    std::string of;
    double value = 0;
    bool at_most = true;
    base::Position at;
  };

  std::optional<Formula> formula(const Value& text, std::string_view name) {
    const auto written = base::as_text(&text, name, diags_);
    if (!written) return std::nullopt;
    return Formula::parse(*written, file_.text_at(text), names_, diags_, operator_quantity_names());
  }

  void read_constraint(const Value& item) {
    auto f = formula(item, "a constraint");
    if (!f || !check(*f)) return;
    const bool of_result =
        std::any_of(f->paths().begin(), f->paths().end(),
                    [](const std::string& p) { return quantity_of(std::string_view(p)); }) ||
        std::any_of(f->reductions().begin(), f->reductions().end(), [](const auto& r) { return r.has_value(); });
    if (!of_result) return out_.constraints.push_back(std::move(*f));
    auto bound = parse_bound(f->text(), f->at(), names_, diags_);
    if (!bound) return;
    asked_.constraints.push_back(f->text());
    if (bound->right.paths().empty())
      limits_.push_back({bound->left.text(), bound->right.of({}), bound->at_most, f->at()});
    note_place(f->at());
  }

  void read_objective(const Value& item) {
    StoredObjective o;
    std::optional<Formula> f;
    if (item.is_map()) {
      base::Fields fields(item, "an objective", diags_);
      const Value* of = fields.require("of");
      const Value* name = fields.take("name");
      const auto goal = base::as_choice(fields.take("goal"), "goal", {"min", "max"}, diags_);
      fields.finish();
      if (of != nullptr) f = formula(*of, "of");
      if (!f) return;
      o.name = name == nullptr ? f->text() : base::as_text(name, "name", diags_).value_or("");
      o.most = goal && *goal == 1;
    } else {
      f = formula(item, "an objective");
      if (!f) return;
      o.name = f->text();
    }
    if (!check(*f)) return;
    if (f->paths().empty())
      return diags_.error(f->at(), fmt::format("'{}' is the same everywhere; an objective reads a result", f->text()));
    o.formula = f->text();
    if (quantity_of(std::string_view(o.name)) && quantity_of(*f) != quantity_of(std::string_view(o.name)))
      return diags_.error(item.at, fmt::format("objectives: '{}' is the name of another result than '{}'; call it "
                                               "otherwise",
                                               o.name, o.formula));
    const auto same = [&](const StoredObjective& other) { return other.name == o.name; };
    if (std::any_of(asked_.objectives.begin(), asked_.objectives.end(), same))
      return diags_.error(item.at, fmt::format("objectives: '{}' stands here a second time", o.name));
    asked_.objectives.push_back(std::move(o));
    note_place(f->at());
  }

  void note_place(base::Position at) {
    if (asked_.objectives.size() + asked_.constraints.size() == 1) first_at_ = at;
  }

  // Whether every base has what the formula reads, and every pattern an operator.
  bool check(const Formula& f) {
    if (!every_base_has(f, out_.bases, diags_)) return false;
    bool ok = true;
    for (std::size_t p = 0; p < f.paths().size(); ++p) {
      const auto& reduction = f.reductions()[p];
      const std::string& name = reduction ? reduction->quantity : f.paths()[p];
      const auto quantity = quantity_of(std::string_view(name));
      if (reduction) ok = check_pattern(*reduction, f.at()) && ok;
      if (quantity && row_of(*quantity).needs_energy) ok = check_energy(name, f.at()) && ok;
      if (quantity && row_of(*quantity).of_chip) ok = check_cost(*quantity, f.at()) && ok;
      const bool input = !reduction && (!quantity || row_of(*quantity).of_chip);
      if (input && std::find(asked_.inputs.begin(), asked_.inputs.end(), name) == asked_.inputs.end())
        asked_.inputs.push_back(name);
    }
    return ok;
  }

  bool check_pattern(const Reduction& r, base::Position at) {
    std::vector<std::string_view> operators;
    for (const SweepWorkload& w : out_.workloads) {
      if (matches(r.pattern, w.name)) return true;
      operators.push_back(w.name);
    }
    if (operators.empty()) return false;  // the workloads' own errors say why
    diags_.error(at, fmt::format("no operator is called '{}'{}", r.pattern, base::did_you_mean(r.pattern, operators)));
    return false;
  }

  bool check_energy(const std::string& name, base::Position at) {
    bool ok = true;
    for (const SweepBase& b : out_.bases) {
      const std::vector<std::string> missing = energy::missing_keys(b.chip, {});
      if (missing.empty()) continue;
      ok = false;
      diags_.error(at, fmt::format("{}: {} lacks {}; state them (docs/energy.md), or leave {} out", name, b.name,
                                   fmt::join(missing, "; "), name));
    }
    return ok;
  }

  bool check_cost(Quantity q, base::Position at) {
    if (!technology_) technology_ = energy::Technology::read(diags_);
    if (!technology_) return false;
    bool ok = true;
    for (const SweepBase& b : out_.bases) {
      Diagnostics own;
      const auto area = energy::area_of(b.chip, *technology_, {own.add_source(b.name)}, own);
      if (area && q == Quantity::kPrice) energy::price_of(b.chip, *area, *technology_, own);
      if (own.ok()) continue;
      ok = false;
      diags_.error(at, fmt::format("{}: {}: {}", row_of(q).name, b.name, own.sentences().front()));
    }
    return ok;
  }

  void check_contradictions() {
    for (const Limit& low : limits_)
      for (const Limit& high : limits_)
        if (!low.at_most && high.at_most && low.of == high.of && low.value > high.value)
          diags_.error(low.at, fmt::format("no point's {} is at least {:.6g} and at most {:.6g}; change one of the two "
                                           "constraints",
                                           low.of, low.value, high.value));
  }

  const SweepFile& file_;
  Diagnostics& diags_;
  SweepSpec& out_;
  std::vector<std::string_view> names_;
  StoredObjectives asked_;
  std::vector<Limit> limits_;
  base::Position first_at_;
  std::optional<energy::Technology> technology_;
};

void read_nsga2(const Value& v, const SweepFile& file, PointChoice& out) {
  constexpr std::int64_t kMaxPopulation = 2'000;  // the sort by domination keeps pairs: 64 MB of twice as many
  base::Fields f(v, "nsga2", file.diags);
  const Value* evaluations = f.require("evaluations");
  out.nsga2.evaluations =
      static_cast<std::size_t>(base::as_integer(evaluations, "evaluations", {1, kMaxPoints}, file.diags).value_or(1));
  if (const auto n = base::as_integer(f.take("population"), "population", {4, kMaxPopulation}, file.diags))
    out.nsga2.population = static_cast<std::size_t>(*n);
  out.nsga2.seed = base::as_integer(f.take("seed"), "seed", {0, kMaxSeed}, file.diags).value_or(out.nsga2.seed);
  f.finish();
  out.evaluations_at = evaluations == nullptr ? v.at : evaluations->at;
}

}  // namespace

std::string PointChoice::text() const {
  switch (by) {
    case By::kGrid:
      return "grid";
    case By::kRefine:
      return "refine around front";
    case By::kNsga2:
      return fmt::format("nsga2, {} evaluations, population {}, seed {}", nsga2.evaluations, nsga2.population_size(),
                         nsga2.seed);
    case By::kListed:
      return listed_as;
  }
  return {};
}

void read_objectives(const Value* objectives, const Value* constraints, const SweepFile& file, SweepSpec& out) {
  ObjectivesReader(file, out).read(objectives, constraints);
}

void read_plan(const Value& v, const SweepFile& file, SweepSpec& out) {
  using By = PointChoice::By;
  out.choice.at = v.at;
  if (!v.is_map()) {
    const auto by = base::as_choice(&v, "plan", {"grid", "refine"}, file.diags);
    if (by) out.choice.by = *by == 1 ? By::kRefine : By::kGrid;
  } else {
    base::Fields f(v, "plan", file.diags);
    const Value* refine = f.take("refine");
    const Value* nsga2 = f.take("nsga2");
    f.finish();
    if ((refine != nullptr) == (nsga2 != nullptr))
      return file.diags.error(v.at,
                              "plan: expected grid, refine, {refine: {around: front}} or "
                              "{nsga2: {evaluations: 2000}}");
    if (refine != nullptr) {
      base::Fields r(*refine, "refine", file.diags);
      base::as_choice(r.take("around"), "around", {"front"}, file.diags);
      r.finish();
      out.choice.by = By::kRefine;
    } else {
      read_nsga2(*nsga2, file, out.choice);
      out.choice.by = By::kNsga2;
    }
  }
  if (!out.choice.is_planned() || out.objectives) return;
  out.objectives = SweepObjectives{{{{"time", "time"}}, {}, {}}, v.at, {}};
}

bool check_shards(const SweepSpec& spec, Diagnostics& diags) {
  if (!spec.choice.is_planned()) return true;
  diags.error(spec.choice.at,
              "plan: a shard has its own points alone, and this plan chooses the next ones by all that "
              "are judged; leave it out, or sweep without shards");
  return false;
}

}  // namespace tilescope::experiments
