// SPDX-License-Identifier: Apache-2.0
// The chips of a plan: which are read, what they cost, and which points they rule out.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "api/common/parallel.h"
#include "base/check.h"
#include "energy/area.h"
#include "energy/price.h"
#include "experiments/objectives/objectives.h"
#include "experiments/sweep/detail/plan.h"

namespace tilescope::experiments {
namespace {

class ChipReader {
 public:
  ChipReader(const SweepSpec& spec, SweepPlan& plan, const PlanRequest& request)
      : spec_(spec), plan_(plan), request_(request) {
    if (!spec.objectives) return;
    for (const std::string& name : spec.objectives->asked.inputs) {
      const auto axis = std::find_if(plan.axes.begin(), plan.axes.end(), [&](const auto& a) { return a.name == name; });
      input_axes_.push_back(axis == plan.axes.end() ? std::nullopt : std::optional(axis - plan.axes.begin()));
      needs_price_ = needs_price_ || quantity_of(std::string_view(name)) == Quantity::kPrice;
    }
    std::vector<StoredWorkload> workloads;
    for (const SweepWorkload& w : spec.workloads) workloads.push_back({w.name, w.kind, w.weight, {}});
    objectives_.emplace(spec.objectives->asked, workloads);
  }

  bool read(const std::vector<std::size_t>& points) {
    for (const std::size_t p : points) plan_.points[p].asked = true;
    const std::vector<std::size_t> needed = needed_by(points);
    api::parallel_for(needed.size(), request_.jobs, [&] {
      return [&](std::size_t i) {
        if (!stopped()) read_one(needed[i]);
      };
    });
    if (stopped()) return false;
    for (PlannedPoint& p : plan_.points) {
      if (plan_.chips[p.request] != nullptr) p.chip = p.request;
      if (!p.chip) p.point.refused = plan_.requests[p.request].refused;
    }
    for (const std::size_t p : points)
      if (plan_.points[p].chip && objectives_) settle(plan_.points[p]);
    return !stopped();
  }

 private:
  bool stopped() const { return request_.stop && request_.stop(); }

  // The requests of the points, of the bases, and of the points beside those of which programs are constructed.
  std::vector<std::size_t> needed_by(const std::vector<std::size_t>& points) const {
    if (points.size() == plan_.points.size()) {
      std::vector<std::size_t> all(plan_.requests.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      return all;
    }
    const PointGrid grid = constructed_points(spec_, plan_);
    std::vector<bool> of_base(spec_.bases.size());  // whether its own programs are taken
    std::set<std::size_t> out;
    const auto add_neighbours = [&](const PlannedPoint& p) {
      for (const PlannedPoint* n : neighbours_of(p, grid)) out.insert(n->request);
    };
    for (std::size_t b = 0; b < spec_.bases.size(); ++b) out.insert(b);
    for (const std::size_t ordinal : points) {
      const PlannedPoint& p = plan_.points[ordinal];
      out.insert(p.request);
      if (is_constructed(p, spec_)) add_neighbours(p);  // none of a base as it is, which has no index
      if (!p.programs || spec_.programs[*p.programs].from == SweepPrograms::From::kBase) of_base[p.base] = true;
    }
    for (const auto& [index, p] : grid)
      if (p->request == p->base && of_base[p->base]) add_neighbours(*p);
    return {out.begin(), out.end()};
  }

  void read_one(std::size_t r) {
    ChipRequest& request = plan_.requests[r];
    if (plan_.chips[r] != nullptr || !request.refused.empty()) return;
    base::Diagnostics own;
    auto chip = spec_.bases[request.base].source.with(request.overrides, own);
    if (!chip || !own.ok()) {
      request.refused = own.ok() ? "refused" : own.errors().front().text;
      return;
    }
    plan_.chips[r] = std::make_unique<arch::ArchSpec>(std::move(*chip));
    if (spec_.objectives && spec_.objectives->technology) add_cost(request, *plan_.chips[r]);
  }

  void add_cost(ChipRequest& request, const arch::ArchSpec& chip) const {
    const energy::Technology& technology = *spec_.objectives->technology;
    base::Diagnostics own;
    const auto area = energy::area_of(chip, technology, {own.add_source("chip")}, own);
    if (area) request.area_mm2 = area->total_mm2;
    const auto price = area && needs_price_ ? energy::price_of(chip, *area, technology, own) : std::nullopt;
    if (price) request.price_usd = price->total_usd;
    if (!own.ok()) request.no_cost = own.sentences().front();
  }

  // What objectives and constraints read of the point before programs, and whether these rule it out.
  void settle(PlannedPoint& p) {
    const ChipRequest& request = plan_.requests[p.request];
    const SweepBase& base = spec_.bases[p.base];
    p.point.inputs.clear();
    for (std::size_t i = 0; i < input_axes_.size(); ++i) {
      const std::string& name = spec_.objectives->asked.inputs[i];
      if (const auto quantity = quantity_of(std::string_view(name)))
        p.point.inputs.push_back(*quantity == Quantity::kArea ? request.area_mm2 : request.price_usd);
      else
        p.point.inputs.push_back(input_axes_[i] ? p.point.at[*input_axes_[i]].number : base.number(name)->value);
    }
    if (p.point.is_base) return;
    p.point.pruned =
        request.no_cost.empty() ? objectives_->worst_of(objectives_->judge(p.point.inputs, {})) : request.no_cost;
  }

  const SweepSpec& spec_;
  SweepPlan& plan_;
  const PlanRequest& request_;
  std::vector<std::optional<std::size_t>> input_axes_;  // of each input, where it has an axis
  bool needs_price_ = false;
  std::optional<Objectives> objectives_;
};

}  // namespace

bool is_constructed(const PlannedPoint& p, const SweepSpec& spec) {
  return !p.programs || spec.programs[*p.programs].from == SweepPrograms::From::kConstruct;
}

PointGrid constructed_points(const SweepSpec& spec, const SweepPlan& plan) {
  PointGrid out;
  for (const PlannedPoint& p : plan.points)
    if (is_constructed(p, spec) && !p.point.is_base) out.emplace(p.index, &p);
  return out;
}

std::vector<const PlannedPoint*> neighbours_of(const PlannedPoint& p, const PointGrid& grid) {
  std::vector<const PlannedPoint*> out;
  for (std::size_t axis = 1; axis < p.index.size(); ++axis)
    for (const int step : {-1, 1}) {
      std::vector<std::size_t> index = p.index;
      index[axis] += static_cast<std::size_t>(step);  // below the first value: no point has that index
      if (const auto at = grid.find(index); at != grid.end()) out.push_back(at->second);
    }
  return out;
}

bool read_chips(const SweepSpec& spec, SweepPlan& plan, const std::vector<std::size_t>& points,
                const PlanRequest& request) {
  return ChipReader(spec, plan, request).read(points);
}

}  // namespace tilescope::experiments
