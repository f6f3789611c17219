// SPDX-License-Identifier: Apache-2.0
// What traces of searches come to: statistics over operators, and their document.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "experiments/search/quality.h"

namespace tilescope::experiments {
namespace {

// A ratio of two times that there are: neither of them infinite.
bool comparable(double ratio) { return std::isfinite(ratio) && ratio > 0; }

Quality quality_at(const std::vector<SearchedOperator>& operators, api::Search search, std::size_t n,
                   bool by_exhaustive) {
  Quality q;
  q.search = search;
  q.n = n;
  double logs = 0;
  for (const SearchedOperator& op : operators) {
    if (!op.error.empty() || (by_exhaustive && !op.exhaustive_us)) continue;
    const double ratio = op.of(search).best_us(n) / (by_exhaustive ? *op.exhaustive_us : op.best_known_us());
    if (!comparable(ratio)) continue;
    ++q.operators;
    logs += std::log(ratio);
    q.within_3 += ratio <= 1.03 ? 1 : 0;
    q.within_15 += ratio <= 1.15 ? 1 : 0;
    if (ratio > q.worst_ratio) {
      q.worst_ratio = ratio;
      q.worst = op.id;
    }
  }
  if (q.operators == 0) return q;
  const auto count = static_cast<double>(q.operators);
  q.mean_ratio = std::exp(logs / count);
  q.within_3 /= count;
  q.within_15 /= count;
  return q;
}

std::vector<Quality> qualities(const std::vector<SearchedOperator>& operators, std::size_t budget, bool by_exhaustive) {
  std::vector<Quality> out;
  for (const api::Search s : {api::Search::kRoller, api::Search::kRollerOsdi22})
    for (const std::size_t n : {std::size_t{1}, kConstructed})
      out.push_back(quality_at(operators, s, n, by_exhaustive));
  std::set<std::size_t> counts = {budget};
  for (const std::size_t n : {10U, 50U, 100U, 500U})
    if (n < budget) counts.insert(n);
  for (const api::Search s : kTrying)
    for (const std::size_t n : counts) out.push_back(quality_at(operators, s, n, by_exhaustive));
  return out;
}

void compare_constructions(SearchQuality& q) {
  double logs = 0;
  for (const SearchedOperator& op : q.operators) {
    if (!op.error.empty()) continue;
    const double ratio = op.of(api::Search::kRollerOsdi22).best_us(1) / op.of(api::Search::kRoller).best_us(1);
    if (!comparable(ratio)) continue;
    ++q.over_osdi22_operators;
    logs += std::log(ratio);
  }
  if (q.over_osdi22_operators > 0) q.over_osdi22_ratio = std::exp(logs / static_cast<double>(q.over_osdi22_operators));
}

base::Value time_value(double us) { return std::isinf(us) ? base::Value(nullptr) : base::Value(us); }

}  // namespace

double TriedTimes::best_us(std::size_t n) const {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(n, us.size()); ++i) best = std::min(best, us[i]);
  return best;
}

const TriedTimes& SearchedOperator::of(api::Search search) const {
  return *std::find_if(tried.begin(), tried.end(), [&](const TriedTimes& t) { return t.search == search; });
}

double SearchedOperator::best_known_us() const {
  double best = exhaustive_us.value_or(std::numeric_limits<double>::infinity());
  for (const TriedTimes& t : tried) best = std::min(best, t.best_us(t.us.size()));
  return best;
}

SearchQuality quality_of(std::vector<SearchedOperator> operators, std::size_t budget) {
  SearchQuality q;
  q.operators = std::move(operators);
  q.by_exhaustive = qualities(q.operators, budget, true);
  q.by_best_known = qualities(q.operators, budget, false);
  compare_constructions(q);
  return q;
}

std::optional<double> mean_ratio_after(const std::vector<SearchedOperator>& operators, api::Search search,
                                       std::size_t n) {
  std::size_t tried = 0;
  for (const SearchedOperator& op : operators) tried += op.error.empty() ? 1 : 0;
  const Quality q = quality_at(operators, search, n, false);
  if (tried == 0 || q.operators < tried) return std::nullopt;
  return q.mean_ratio;
}

base::Value to_document(const SearchQuality& q) {
  base::List rows;
  for (const SearchedOperator& op : q.operators) {
    base::Map row = {{"id", op.id}, {"kind", op.kind}};
    for (const TriedTimes& t : op.tried) {
      base::List times;
      for (const double us : t.us) times.push_back(time_value(us));
      row.push_back({std::string(api::name_of(t.search)) + "_us", std::move(times)});
    }
    row.push_back({"aligned_programs", op.aligned});
    if (op.exhaustive_us) {
      row.push_back({"every_layout", op.every_layout});
      row.push_back({"exhaustive_us", time_value(*op.exhaustive_us)});
    }
    if (!op.error.empty()) row.push_back({"error", op.error});
    rows.emplace_back(std::move(row));
  }
  return base::Map{{"operators", std::move(rows)},
                   {"by_exhaustive", base::to_list(q.by_exhaustive)},
                   {"by_best_known", base::to_list(q.by_best_known)},
                   {"over_osdi22_ratio", q.over_osdi22_ratio},
                   {"over_osdi22_operators", q.over_osdi22_operators}};
}

}  // namespace tilescope::experiments
