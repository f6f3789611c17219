// SPDX-License-Identifier: Apache-2.0
#include "api/common/totals.h"

#include <algorithm>
#include <map>

namespace tilescope::api {
namespace {

double us_of_all(const TimedOperator& op) { return static_cast<double>(op.count) * op.us.value_or(0); }

}  // namespace

std::optional<double> Totals::share_of(const TimedOperator& op) const {
  if (!op.us || us <= 0) return std::nullopt;
  return us_of_all(op) / us;
}

Totals totals_of(const std::vector<TimedOperator>& operators) {
  Totals out;
  out.operators = operators.size();
  std::map<std::string, double> bound_us;
  for (const TimedOperator& op : operators) {
    if (!op.us) continue;
    ++out.timed;
    out.count += op.count;
    out.us += us_of_all(op);
    out.operations += static_cast<double>(op.count) * op.operations;
    bound_us[op.bound_by] += us_of_all(op);
  }
  for (const auto& [name, us] : bound_us)
    if (!name.empty()) out.bound_ratios.push_back({name, out.us > 0 ? us / out.us : 0});
  std::stable_sort(out.bound_ratios.begin(), out.bound_ratios.end(),
                   [](const auto& a, const auto& b) { return a.ratio > b.ratio; });
  return out;
}

std::optional<Totals> totals_of(const std::vector<TimedProgram>& programs) {
  std::map<std::string, TimedOperator> fastest;
  for (const auto& [id, timed] : programs) {
    TimedOperator& op = fastest.try_emplace(id, timed).first->second;
    if (timed.us && !(op.us && *op.us <= *timed.us)) op = timed;
  }
  if (fastest.empty()) return std::nullopt;
  std::vector<TimedOperator> operators;
  for (auto& [id, op] : fastest) operators.push_back(std::move(op));
  return totals_of(operators);
}

std::optional<double> rate_of(const TimedOperator& op) {
  if (!op.us || *op.us <= 0) return std::nullopt;
  return op.operations / *op.us * 1e6;
}

}  // namespace tilescope::api
