// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/export.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/common/csv.h"
#include "api/common/new_file.h"
#include "base/document.h"
#include "experiments/objectives/stored.h"

namespace tilescope::experiments {
namespace {

using base::Map;
using base::Value;

// How a column's name says a unit, and what of it the column counts.
struct ColumnUnit {
  const char* unit;
  const char* suffix;
  double size;
};
constexpr std::array<ColumnUnit, 14> kUnits = {{{"B", "_bytes", 1},
                                                {"Hz", "_hz", 1},
                                                {"cycles", "_cycles", 1},
                                                {"us", "_us", 1},
                                                {"B/s", "_gbps", 1e9},
                                                {"FLOP/s", "_gflops", 1e9},
                                                {"V", "_v", 1},
                                                {"W", "_w", 1},
                                                {"pJ", "_pj", 1},
                                                {"pJ/B", "_pj_per_byte", 1},
                                                {"W/V2", "_w_per_v2", 1},
                                                {"W/V2/GHz", "_w_per_v2_ghz", 1},
                                                {"mm2", "_mm2", 1},
                                                {"USD", "_usd", 1}}};

const ColumnUnit* column_unit_of(const StoredAxis& a) {
  for (const ColumnUnit& u : kUnits)
    if (a.unit == u.unit) return &u;
  return nullptr;
}

std::string column_of(const StoredAxis& a) {
  const ColumnUnit* u = column_unit_of(a);
  return a.name + (u == nullptr ? "" : u->suffix);
}

Value number(double v) {
  const auto whole = static_cast<std::int64_t>(v);
  return static_cast<double>(whole) == v ? Value(whole) : Value(v);
}

// A coordinate in its column's unit; null where a base has none.
Value value_of(const StoredAxis& a, const StoredValue& v) {
  const ColumnUnit* u = column_unit_of(a);
  if (v.number) return number(*v.number / (u == nullptr ? 1 : u->size));
  return base::unless_empty(v.text);
}

// Columns in their order, and the place of each.
class Columns {
 public:
  std::size_t of(const base::Column& column) {
    const auto [entry, fresh] = places_.emplace(column.name, columns_.size());
    if (fresh) columns_.push_back({std::string(column.name), std::string(column.unit), std::string(column.about)});
    return entry->second;
  }
  const std::vector<TableColumn>& all() const { return columns_; }
  std::size_t size() const { return columns_.size(); }

 private:
  std::vector<TableColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

// One row as cells of the columns, which it may widen.
class RowWriter {
 public:
  RowWriter(const Store& store, const StoredSweep& sweep, Columns& columns) : sweep_(sweep), columns_(columns) {
    if (!sweep.objectives) return;
    judgements_ = judgements_of(store, sweep);
    const std::vector<StoredPoint> points = store.points(sweep);
    for (std::size_t i = 0; i < points.size(); ++i) places_.emplace(points[i].ordinal, i);
    for (const StoredObjective& o : sweep.objectives->objectives) objectives_.push_back(shown(o));
  }

  // The cells stay valid until the next call.
  const std::vector<Value>& cells(const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    std::fill(cells_.begin(), cells_.end(), Value(nullptr));
    put({"sweep", "", "Title of the sweep."}, sweep_.title);
    put({"point", "", "Number of the point in the grid."}, p.ordinal);
    put({"is_base", "", "Whether the point is a base chip as it is."}, p.is_base);
    if (sweep_.axes.empty() || sweep_.axes.front().name != "base") put({"base", "", "The base chip."}, p.base);
    for (std::size_t a = 0; a < sweep_.axes.size(); ++a)
      put({column_of(sweep_.axes[a]), sweep_.axes[a].unit, "Value of the axis."}, value_of(sweep_.axes[a], p.at[a]));
    if (sweep_.objectives) put_objectives(judgements_[places_.at(p.ordinal)]);
    put({"workload", "", "The operator."}, w.name);
    put({"kind", "", "What kind of operator it is."}, w.kind);
    put({"weight", "", "Weight of the operator in totals."}, number(w.weight));
    static const api::Prediction kNone;
    const bool predicted = r != nullptr && r->prediction;
    put_elements(predicted ? *r->prediction : kNone, predicted, Elements::kSingle);
    put({"simulated_us", "us", "Time by the simulator."},
        r != nullptr && r->simulation ? Value(r->simulation->simulated_us) : Value(nullptr));
    put({"measured_us", "us", "Time on the chip itself."},
        r != nullptr && r->measured_us ? Value(*r->measured_us) : Value(nullptr));
    if (sweep_.multi_fidelity)
      put({"chosen", "", "Why a multi-fidelity sweep simulates the point."},
          base::unless_empty(std::string(name_of(p.chosen))));
    put({"error", "", "Why there is no time."}, base::unless_empty(!p.refused.empty()  ? "refused: " + p.refused
                                                                   : !p.pruned.empty() ? "not constructed: " + p.pruned
                                                                   : r == nullptr      ? ""
                                                                   : !r->error.empty() ? r->error
                                                                                       : r->simulation_error));
    put({"chip", "", "Hash of the chip."}, base::unless_empty(p.chip));
    put({"program", "", "Hash of the program."}, r == nullptr ? Value() : base::unless_empty(r->program));
    if (predicted) put_elements(*r->prediction, true, Elements::kNested);
    return cells_;
  }

 private:
  void put_objectives(const Judgement& j) {
    for (std::size_t o = 0; o < objectives_.size(); ++o)
      put({objectives_[o].column, objectives_[o].unit, "An objective of the sweep."},
          j.values[o] ? Value(*j.values[o] * objectives_[o].factor) : Value(nullptr));
    put({"violation_ratio", "", "Sum over the constraints of the amount beyond the bound over the bound."},
        j.violation());
    put({"on_front", "", "Whether no other point is better in every objective."}, j.on_front);
  }

  void put(const base::Column& column, Value v) {
    const std::size_t c = columns_.of(column);
    if (cells_.size() <= c) cells_.resize(c + 1);
    cells_[c] = std::move(v);
  }

  // Single elements have a column in every row; nested ones, of the chip's terms and levels, are the only ones that a
  // row may add.
  enum class Elements { kSingle, kNested };
  void put_elements(const api::Prediction& p, bool known, Elements which) {
    base::cells_of(p, [&](const base::Column& cell, Value v) {
      if ((cell.name.find('.') != std::string_view::npos) == (which == Elements::kNested))
        put(cell, known ? std::move(v) : Value(nullptr));
    });
  }

  const StoredSweep& sweep_;
  Columns& columns_;
  std::vector<Judgement> judgements_;          // by point, where the sweep has objectives
  std::map<std::size_t, std::size_t> places_;  // of points by their numbers
  std::vector<ShownObjective> objectives_;
  std::vector<Value> cells_;
};

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
  Columns columns;
  RowWriter rows(store, sweep, columns);
  store.each_row(sweep, [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    const std::vector<Value>& cells = rows.cells(p, w, r);
    visit(columns.all(), cells);
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
          {"weight", number(op.weight)},
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
