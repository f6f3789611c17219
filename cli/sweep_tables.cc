// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/table.h"

namespace tilescope::cli {
namespace {

using experiments::RankedPoint;
using experiments::SweepState;

constexpr std::size_t kReasons = 5;

std::string text_of(const std::optional<double>& us) { return us ? time_text(*us) : "-"; }

void add(Table& table, bool named, const RankedPoint& p) {
  std::vector<std::string> row = {fmt::format("{}", p.point.ordinal)};
  if (named) row.push_back(p.point.base);
  for (const experiments::StoredValue& v : p.point.at) row.push_back(v.text.empty() ? "-" : v.text);
  row.push_back(text_of(p.total.weighted_us));
  if (p.point.is_base)
    row.emplace_back("is the base");
  else
    row.push_back(p.total.base_ratio ? fmt::format("{:.3f}", *p.total.base_ratio) : "-");
  table.add(row);
}

void print_reasons(const std::vector<std::pair<std::string, std::size_t>>& reasons, const char* what) {
  for (std::size_t i = 0; i < std::min(kReasons, reasons.size()); ++i)
    fmt::print(stderr, "{} {}: {}\n", reasons[i].second, what, reasons[i].first);
  if (reasons.size() > kReasons) fmt::print(stderr, "and {} more reasons\n", reasons.size() - kReasons);
}

}  // namespace

std::string heading_of(const SweepState& s) {
  return fmt::format("{} ({}, {}): {} points of {} operators: {} done{}{}", s.sweep.title, s.sweep.file,
                     s.sweep.fidelity, s.points, s.sweep.workloads.size(), s.done,
                     s.refused > 0 ? fmt::format(", {} refused", s.refused) : "",
                     s.failed > 0 ? fmt::format(", {} with failures", s.failed) : "");
}

void print_best(const SweepState& s) {
  std::vector<Column> columns = {{"#", true}};
  const bool named = s.sweep.axes.empty() || s.sweep.axes.front().name != "base";  // else it is an axis
  if (named) columns.push_back({"base"});
  for (const experiments::StoredAxis& a : s.sweep.axes) columns.push_back({a.name, true});
  columns.push_back({"weighted total", true});
  columns.push_back({"of base", true});
  Table table(columns);
  for (const RankedPoint& p : s.bases) add(table, named, p);
  for (const RankedPoint& p : s.best) add(table, named, p);
  table.print();
}

void print_reasons(const SweepState& s) {
  print_reasons(s.refusals, "points refused");
  print_reasons(s.failures, "rows failed");
}

}  // namespace tilescope::cli
