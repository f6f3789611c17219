// SPDX-License-Identifier: Apache-2.0
// Differences of costs, and of the operators of a suite.

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/constructed.h"
#include "api/counted.h"
#include "api/diff.h"
#include "api/kernels.h"
#include "api/timed_kernels.h"
#include "api/workload.h"
#include "energy/area.h"
#include "energy/price.h"
#include "energy/technology.h"

namespace tilescope::api {
namespace {

// Figures by part in order, those of equal names added up.
using Parts = std::vector<std::pair<std::string, double>>;

void add(CostDifference& to, const Parts& parts, std::optional<double> CostPart::* side) {
  for (const auto& [name, figure] : parts) {
    auto found = std::find_if(to.parts.begin(), to.parts.end(), [&](const CostPart& p) { return p.part == name; });
    if (found == to.parts.end()) found = to.parts.insert(to.parts.end(), {name, {}, {}});
    ((*found).*side) = ((*found).*side).value_or(0) + figure;
  }
}

CostDifference difference(std::string unit, const Parts& left, const Parts& right, std::string why) {
  CostDifference out{std::move(unit), {}, std::move(why)};
  if (!out.why.empty()) return out;
  add(out, left, &CostPart::left);
  add(out, right, &CostPart::right);
  return out;
}

// The parts of the chip, and why there are none.
struct PartsOf {
  Parts area, price;
  std::string no_area, no_price;
};

PartsOf parts_of(const arch::ArchSpec& a) {
  PartsOf out;
  const auto why = [&](base::Diagnostics& diags) {
    return fmt::format("{}: {}", a.name, diags.ok() ? "" : diags.sentences().front());
  };
  if (!a.die) {
    out.no_area = out.no_price = fmt::format("{}: its file states no `die`", a.name);
    return out;
  }
  const energy::Technology& technology = energy::Technology::own();
  base::Diagnostics of_area, of_price;
  const auto area = energy::area_of(a, technology, {of_area.add_source(a.name)}, of_area);
  if (!area) {
    out.no_area = out.no_price = why(of_area);
    return out;
  }
  for (const energy::AreaPart& p : area->parts) out.area.emplace_back(fmt::format("{}: {}", p.group, p.part), p.mm2);
  const auto price = energy::price_of(a, *area, technology, of_price);
  if (!price) out.no_price = why(of_price);
  if (price)
    for (const energy::PricePart& p : price->parts) out.price.emplace_back(p.part, p.usd);
  return out;
}

double sum_of(const std::vector<CostPart>& parts, std::optional<double> CostPart::* side) {
  double sum = 0;
  for (const CostPart& p : parts) sum += (p.*side).value_or(0);
  return sum;
}

Parts parts_of(const std::vector<NamedNumber>& numbers) {
  Parts out;
  for (const NamedNumber& n : numbers) out.emplace_back(n.name, n.number);
  return out;
}

// The operators of one chip.
struct Constructed {
  std::vector<TimedKernels> kernels;
  EnergyOf energy;
};

void add(EnergyOf& to, const std::vector<NamedNumber>& parts, double count) {
  for (const NamedNumber& p : parts) {
    auto found = std::find_if(to.parts.begin(), to.parts.end(), [&](const NamedNumber& n) { return n.name == p.name; });
    if (found == to.parts.end()) found = to.parts.insert(to.parts.end(), {p.name, 0});
    found->number += count * p.number;
  }
}

Constructed timed_on(const std::vector<ConstructedOperator>& operators, const arch::ArchSpec& a) {
  Constructed out;
  for (const ConstructedOperator& o : operators) {
    TimedKernels& k = out.kernels.emplace_back();
    k.nodes = {o.op.id};
    k.kind = o.op.kind;
    k.program = o.op.id;
    k.count = static_cast<double>(o.op.count);
    k.error = o.found.error;
    if (o.found.programs.empty()) continue;
    const RankedProgram& best = o.found.programs.front();
    k.kernels = kernels_of(best.program, a).size();
    k.us = best.estimate.total_us;
    k.bound_by = best.estimate.terms[best.estimate.bottleneck].name;
    k.terms = timed_terms(best.estimate);
    std::optional<std::string> lacking;
    if (const auto row = energy_row_of(best.estimate.counts, *k.us, a, {}, lacking)) {
      k.energy_uj = row->energy_uj;
      add(out.energy, row->parts, k.count);
    } else if (out.energy.why.empty()) {
      out.energy.why = fmt::format("{}: {}", a.name, lacking.value_or("its file has no figures for an energy"));
    }
  }
  return out;
}

}  // namespace

double CostDifference::left() const { return sum_of(parts, &CostPart::left); }
double CostDifference::right() const { return sum_of(parts, &CostPart::right); }

CostDifference area_difference(const arch::ArchSpec& left, const arch::ArchSpec& right) {
  const PartsOf l = parts_of(left), r = parts_of(right);
  return difference("mm2", l.area, r.area, l.no_area.empty() ? r.no_area : l.no_area);
}

CostDifference price_difference(const arch::ArchSpec& left, const arch::ArchSpec& right) {
  const PartsOf l = parts_of(left), r = parts_of(right);
  return difference("usd", l.price, r.price, l.no_price.empty() ? r.no_price : l.no_price);
}

CostDifference energy_difference(const EnergyOf& left, const EnergyOf& right) {
  return difference("uj", parts_of(left.parts), parts_of(right.parts), left.why.empty() ? right.why : left.why);
}

std::optional<WorkDifference> diff_workload(const Workload& workload, const arch::ArchSpec& left,
                                            const arch::ArchSpec& right, int jobs, const Progress& progress,
                                            base::Diagnostics& diags) {
  const auto operators = expressions_of(workload, diags);
  if (!operators) return std::nullopt;
  const std::size_t all = 2 * operators->size();
  std::size_t before = 0;
  const auto construct_on = [&](const arch::ArchSpec& a) {
    auto out = construct_operators(
        *operators, workload, a, {Search::kRoller}, 1, jobs,
        [&](std::size_t done, std::size_t) { progress(before + done, all); }, diags);
    before += operators->size();
    return out;
  };
  const auto on_left = construct_on(left);
  if (!on_left) return std::nullopt;
  const auto on_right = construct_on(right);
  if (!on_right) return std::nullopt;
  const Constructed l = timed_on(*on_left, left), r = timed_on(*on_right, right);
  return WorkDifference{time_change(l.kernels, r.kernels), energy_difference(l.energy, r.energy)};
}

base::Value to_document(const CostDifference& cost) {
  if (!cost.why.empty()) return base::Map{{"why", cost.why}};
  const std::string left = "left_" + cost.unit, right = "right_" + cost.unit;
  base::List parts;
  for (const CostPart& p : cost.parts)
    parts.emplace_back(base::Map{{"part", p.part}, {left, p.left}, {right, p.right}});
  return base::Map{{left, cost.left()}, {right, cost.right()}, {"parts", std::move(parts)}};
}

}  // namespace tilescope::api
