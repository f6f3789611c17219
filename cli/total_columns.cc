// SPDX-License-Identifier: Apache-2.0
#include "cli/total_columns.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::cli {

void print_totals(const api::Totals& t) {
  std::vector<std::string> bound;
  for (const auto& [name, ratio] : t.bound_ratios) bound.push_back(fmt::format("{} {:.0f} %", name, 100 * ratio));
  const auto timed = static_cast<std::int64_t>(t.timed);
  fmt::print("\n{}{} operators{}: {} {}{}{}\n", t.timed < t.operators ? fmt::format("{} of ", t.timed) : "",
             t.operators, t.count > timed ? fmt::format(", {} with their counts", t.count) : "",
             t.simulated ? "simulated" : "predicted", time_text(t.us),
             t.us > 0 ? fmt::format(", {}", rate_text(t.operations / t.us * 1e6)) : "",
             bound.empty() ? "" : fmt::format("; bound by {}", fmt::join(bound, ", ")));
}

TotalColumns::TotalColumns(std::vector<api::TimedOperator> operators)
    : operators_(std::move(operators)), totals_(api::totals_of(operators_)) {
  counted_ = std::any_of(operators_.begin(), operators_.end(), [](const auto& op) { return op.count != 1; });
}

void TotalColumns::add_count(std::vector<Column>& columns) const {
  if (counted_) columns.push_back({"count", true});
}

void TotalColumns::add_rates(std::vector<Column>& columns) const {
  columns.push_back({"share", true});
  columns.push_back({"FLOP/s", true, 1});
}

void TotalColumns::add_count(std::vector<std::string>& row, std::size_t i) const {
  if (counted_) row.push_back(fmt::format("{}", operators_[i].count));
}

void TotalColumns::add_rates(std::vector<std::string>& row, std::size_t i) const {
  const auto share = totals_.share_of(operators_[i]);
  const auto rate = api::rate_of(operators_[i]);
  row.push_back(share ? share_text(*share) : "-");
  row.push_back(rate ? rate_text(*rate) : "-");
}

std::string TotalColumns::name() const {
  if (totals_.timed == totals_.operators) return "total";
  return fmt::format("total of {} of {}", totals_.timed, totals_.operators);
}

std::string TotalColumns::count() const { return fmt::format("{}", totals_.count); }

std::string TotalColumns::rate() const {
  return totals_.us > 0 ? rate_text(totals_.operations / totals_.us * 1e6) : "-";
}

std::string TotalColumns::bound_by() const {
  if (totals_.bound_ratios.empty()) return "-";
  const auto& [name, ratio] = totals_.bound_ratios.front();
  return fmt::format("{} {:.0f} %", name, 100 * ratio);
}

}  // namespace tilescope::cli
