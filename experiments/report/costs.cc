// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/costs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "arch/chip_source.h"
#include "arch/override.h"
#include "base/diagnostics.h"
#include "energy/area.h"
#include "energy/price.h"
#include "experiments/report/detail/chips.h"
#include "experiments/report/detail/columns.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;

// The column of the part, a new one where it was never seen.
Times& column_of(CostParts& cost, const std::string& part, std::size_t points) {
  auto found = std::find_if(cost.parts.begin(), cost.parts.end(), [&](const auto& p) { return p.first == part; });
  if (found == cost.parts.end()) found = cost.parts.insert(cost.parts.end(), {part, Times(points)});
  return found->second;
}

void add(CostParts& cost, const std::string& part, std::size_t point, std::size_t points, double value) {
  auto& sum = column_of(cost, part, points)[point];
  sum = sum.value_or(0) + value;
}

// The chips of points from the files of their bases.
class Chips {
 public:
  explicit Chips(const StoredSweep& sweep) : sweep_(sweep) {}

  std::optional<arch::ArchSpec> of(const StoredPoint& point) {
    const auto [known, is_new] = bases_.try_emplace(point.base);
    if (is_new) {
      base::Diagnostics diags;
      known->second = arch::ChipSource::read(file_of_base(sweep_, point.base), diags);
    }
    if (!known->second) return std::nullopt;
    std::vector<arch::Override> changes;
    for (const StoredDifference& d : point.differences)
      if (!d.path.starts_with("program.") && d.path != "programs") changes.push_back({d.path, d.to});
    base::Diagnostics own;
    return known->second->with(changes, own);
  }

 private:
  const StoredSweep& sweep_;
  std::map<std::string, std::optional<arch::ChipSource>> bases_;
};

struct ChipCosts {
  std::vector<std::pair<std::string, double>> area, price;
};

std::optional<ChipCosts> costs_of_chip(const std::optional<arch::ArchSpec>& chip) {
  if (!chip || !chip->die) return std::nullopt;
  const energy::Technology& technology = energy::Technology::own();
  base::Diagnostics diags;
  const auto area = energy::area_of(*chip, technology, {diags.add_source("chip")}, diags);
  if (!area) return std::nullopt;
  ChipCosts out;
  for (const energy::AreaPart& p : area->parts) out.area.emplace_back(p.group, p.mm2);
  if (const auto price = energy::price_of(*chip, *area, technology, diags))
    for (const energy::PricePart& p : price->parts) out.price.emplace_back(p.part, p.usd);
  return out;
}

void add_chips(const StoredSweep& sweep, const SweepRows& rows, CostParts& area, CostParts& price) {
  const std::size_t points = rows.points.size();
  Chips chips(sweep);
  std::map<std::string, std::optional<ChipCosts>> known;  // points of one chip cost the same
  for (std::size_t p = 0; p < points; ++p) {
    if (rows.points[p].chip.empty()) continue;
    const auto [costs, is_new] = known.try_emplace(rows.points[p].chip);
    if (is_new) costs->second = costs_of_chip(chips.of(rows.points[p]));
    if (!costs->second) continue;
    for (const auto& [part, mm2] : costs->second->area) add(area, part, p, points, mm2);
    for (const auto& [part, usd] : costs->second->price) add(price, part, p, points, usd);
  }
}

}  // namespace

Times CostParts::sums() const {
  Times out;
  for (const auto& [part, values] : parts) {
    out.resize(values.size());
    for (std::size_t p = 0; p < values.size(); ++p)
      if (values[p]) out[p] = out[p].value_or(0) + *values[p];
  }
  return out;
}

std::vector<CostParts> costs_of(const StoredSweep& sweep, const SweepRows& rows) {
  std::vector<CostParts> out{{"energy", "J", {}}, {"area", "mm2", {}}, {"price", "USD", {}}};
  const std::size_t points = rows.points.size();
  for (std::size_t p = 0; p < points; ++p)
    for (const auto& [part, joules] : rows.energy[p]) add(out[0], part, p, points, joules);
  add_chips(sweep, rows, out[1], out[2]);
  std::erase_if(out, [](const CostParts& c) { return c.parts.empty(); });
  return out;
}

List parts_of(const std::vector<CostParts>& costs) {
  List out;
  for (const CostParts& c : costs) {
    List parts;
    for (const auto& [part, values] : c.parts) {
      List column;
      for (const auto& v : values) column.push_back(figure(v));
      parts.emplace_back(Map{{"name", part}, {"values", std::move(column)}});
    }
    out.emplace_back(Map{{"name", c.name}, {"unit", c.unit}, {"parts", std::move(parts)}});
  }
  return out;
}

}  // namespace tilescope::experiments
