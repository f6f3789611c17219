// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/export.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/common/csv.h"
#include "api/common/new_file.h"
#include "base/document.h"
#include "experiments/sweep/detail/table_row.h"

namespace tilescope::experiments {
namespace {

using base::Map;
using base::Value;

std::vector<Value> header_of(const std::vector<TableColumn>& columns) {
  std::vector<Value> out;
  for (const TableColumn& c : columns) out.emplace_back(c.name);
  return out;
}

std::string json_line(const std::vector<Value>& cells, const std::vector<TableColumn>& columns) {
  base::Map out;
  for (std::size_t c = 0; c < cells.size(); ++c)
    if (!cells[c].is_null()) out.push_back({columns[c].name, cells[c]});
  return base::to_json(std::move(out)) + '\n';
}

}  // namespace

void each_table_row(const Store& store, const StoredSweep& sweep, const VisitTableRow& visit) {
  TableRow row(store, sweep);
  store.each_row(sweep, [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    const std::vector<Value>& cells = row.cells(p, w, r);
    visit(row.columns(), cells);
  });
}

std::size_t write_table(const Store& store, const StoredSweep& sweep, TableForm form,
                        const std::function<void(std::string_view)>& write) {
  std::size_t columns = 0;
  if (form == TableForm::kCsv) {  // all columns are known before the first row is written
    std::vector<TableColumn> known;
    each_table_row(store, sweep, [&](const std::vector<TableColumn>& all, const std::vector<Value>&) {
      if (all.size() > known.size()) known = all;
    });
    columns = known.size();
    write(api::csv_line(header_of(known), columns));
  }
  std::size_t written = 0;
  each_table_row(store, sweep, [&](const std::vector<TableColumn>& all, const std::vector<Value>& cells) {
    write(form == TableForm::kCsv ? api::csv_line(cells, columns) : json_line(cells, all));
    ++written;
  });
  return written;
}

std::optional<OperatorsAtPoint> operators_at(const Store& store, const StoredSweep& sweep, std::size_t point,
                                             base::Diagnostics& diags) {
  const std::vector<StoredPoint> points = store.points(sweep);
  const auto found =
      std::find_if(points.begin(), points.end(), [&](const StoredPoint& p) { return p.ordinal == point; });
  const auto refuse = [&](std::string why) {
    diags.error({diags.add_source(fmt::format("--rows {}", point))}, std::move(why));
    return std::nullopt;
  };
  if (found == points.end())
    return refuse(fmt::format("the sweep has no such point, expected a number from 0 to {}", points.size() - 1));
  if (!found->refused.empty()) return refuse("the point is refused: " + found->refused);
  if (!found->pruned.empty()) return refuse("the point has no programs: " + found->pruned);
  OperatorsAtPoint out{*found, {}, store.totals(sweep)[static_cast<std::size_t>(found - points.begin())].weighted_us};
  store.each_row(sweep, [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    if (p.ordinal != point) return;
    OperatorAtPoint& op = out.operators.emplace_back();
    op.id = w.name;
    op.kind = w.kind;
    op.weight = w.weight;
    if (r == nullptr) {
      op.error = "not computed yet";
      return;
    }
    op.us = r->error.empty() ? r->time_us() : std::nullopt;
    op.error = r->error;
    if (op.us && out.weighted_us && *out.weighted_us > 0) op.share_ratio = w.weight * *op.us / *out.weighted_us;
    if (r->simulation)
      op.bound_by = api::longest_stall(*r->simulation).name;
    else if (r->prediction)
      op.bound_by = r->prediction->bottleneck;
  });
  return out;
}

namespace {

Map entries_of(const OperatorAtPoint& op) {
  return {{"id", op.id},
          {"kind", op.kind},
          {"weight", number_cell(op.weight)},
          {"time_us", op.us},
          {"share_ratio", op.share_ratio},
          {"bottleneck", base::unless_empty(op.bound_by)},
          {"error", base::unless_empty(op.error)}};
}

}  // namespace

base::Value to_document(const OperatorsAtPoint& at, const StoredSweep& sweep) {
  Map axes;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    axes.push_back({sweep.axes[a].name, base::unless_empty(at.point.at[a].text)});
  base::List operators;
  for (const OperatorAtPoint& op : at.operators) operators.emplace_back(entries_of(op));
  return Map{{"sweep", sweep.title},  {"point", at.point.ordinal},     {"base", at.point.base},
             {"at", std::move(axes)}, {"weighted_us", at.weighted_us}, {"operators", std::move(operators)}};
}

std::size_t write_table_file(const OperatorsAtPoint& at, const StoredSweep& sweep, TableForm form,
                             const std::string& path) {
  api::NewFile file(path);
  for (const OperatorAtPoint& op : at.operators) {
    std::vector<TableColumn> names = {{"sweep", "", ""}, {"point", "", ""}};
    std::vector<Value> cells = {sweep.title, at.point.ordinal};
    for (base::Entry& e : entries_of(op)) {
      names.push_back({std::move(e.key), "", ""});
      cells.push_back(std::move(e.value));
    }
    const bool first = &op == &at.operators.front();
    if (first && form == TableForm::kCsv) file.write(api::csv_line(header_of(names), names.size()));
    file.write(form == TableForm::kCsv ? api::csv_line(cells, names.size()) : json_line(cells, names));
  }
  file.finish();
  return at.operators.size();
}

std::size_t write_table_file(const Store& store, const StoredSweep& sweep, TableForm form, const std::string& path) {
  api::NewFile file(path);
  const std::size_t rows = write_table(store, sweep, form, [&](std::string_view text) { file.write(text); });
  file.finish();
  return rows;
}

}  // namespace tilescope::experiments
