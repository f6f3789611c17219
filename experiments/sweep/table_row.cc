// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/table_row.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/single_elements.h"

namespace tilescope::experiments {
namespace {

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

// Whether a column is of one of a prediction's single elements, those of its optional parts too: an absent part names
// its nested elements as well.
bool is_single(std::string_view column) {
  static const std::set<std::string, std::less<>> kNames = [] {
    std::set<std::string, std::less<>> names;
    base::each_single_element<api::Prediction>(
        [&](const base::SingleElement& e, const auto&) { names.emplace(e.column.name); });
    return names;
  }();
  return kNames.contains(column);
}

// A coordinate in its column's unit; null where a base has none.
Value value_of(const StoredAxis& a, const StoredValue& v) {
  const ColumnUnit* u = column_unit_of(a);
  if (v.number) return number_cell(*v.number / (u == nullptr ? 1 : u->size));
  return base::unless_empty(v.text);
}

}  // namespace

Value number_cell(double v) {
  const auto whole = static_cast<std::int64_t>(v);
  return static_cast<double>(whole) == v ? Value(whole) : Value(v);
}

TableRow::TableRow(const Store& store, const StoredSweep& sweep) : sweep_(sweep) {
  for (const StoredAxis& a : sweep.axes) axes_.push_back(column_of(a));
  if (!sweep.objectives) return;
  judgements_ = judgements_of(store, sweep);
  const std::vector<StoredPoint> points = store.points(sweep);
  for (std::size_t i = 0; i < points.size(); ++i) points_.emplace(points[i].ordinal, i);
  for (const StoredObjective& o : sweep.objectives->objectives) objectives_.push_back(shown(o));
}

const std::vector<Value>& TableRow::cells(const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
  clear();
  put_point(p);
  put_workload(w);
  static const api::Prediction kNone;
  const bool predicted = r != nullptr && r->prediction;
  put_elements(predicted ? *r->prediction : kNone, predicted, Elements::kSingle);
  put({"simulated_us", "us", "Time by the simulator."},
      r != nullptr && r->simulation ? Value(r->simulation->simulated_us) : Value(nullptr));
  put({"measured_us", "us", "Time on the chip itself."},
      r != nullptr && r->measured_us ? Value(*r->measured_us) : Value(nullptr));
  put_chosen(p);
  put({"error", "", "Why there is no time."}, base::unless_empty(!p.refused.empty()  ? "refused: " + p.refused
                                                                 : !p.pruned.empty() ? "not constructed: " + p.pruned
                                                                 : r == nullptr      ? ""
                                                                 : !r->error.empty() ? r->error
                                                                                     : r->simulation_error));
  put_chip(p);
  put({"program", "", "Hash of the program."}, r == nullptr ? Value() : base::unless_empty(r->program));
  if (predicted) put_elements(*r->prediction, true, Elements::kNested);
  return cells_;
}

const std::vector<Value>& TableRow::point_cells(const StoredPoint& p) {
  clear();
  put_point(p);
  put_chosen(p);
  put_chip(p);
  return cells_;
}

const std::vector<Value>& TableRow::workload_cells(const StoredWorkload& w) {
  clear();
  put_workload(w);
  return cells_;
}

void TableRow::clear() { std::fill(cells_.begin(), cells_.end(), Value(nullptr)); }

void TableRow::put(const base::Column& column, Value v) {
  auto found = places_.find(column.name);
  if (found == places_.end()) {
    found = places_.emplace(column.name, columns_.size()).first;
    columns_.push_back({std::string(column.name), std::string(column.unit), std::string(column.about)});
    cells_.resize(columns_.size());
  }
  cells_[found->second] = std::move(v);
}

void TableRow::put_point(const StoredPoint& p) {
  put({"sweep", "", "Title of the sweep."}, sweep_.title);
  put({"point", "", "Number of the point in the grid."}, p.ordinal);
  put({"is_base", "", "Whether the point is a base chip as it is."}, p.is_base);
  if (sweep_.axes.empty() || sweep_.axes.front().name != "base") put({"base", "", "The base chip."}, p.base);
  for (std::size_t a = 0; a < axes_.size(); ++a)
    put({axes_[a], sweep_.axes[a].unit, "Value of the axis."}, value_of(sweep_.axes[a], p.at[a]));
  if (sweep_.objectives) put_objectives(judgements_[points_.at(p.ordinal)]);
}

void TableRow::put_objectives(const Judgement& j) {
  for (std::size_t o = 0; o < objectives_.size(); ++o)
    put({objectives_[o].column, objectives_[o].unit, "An objective of the sweep."},
        j.values[o] ? Value(*j.values[o] * objectives_[o].factor) : Value(nullptr));
  put({"violation_ratio", "", "Sum over the constraints of the amount beyond the bound over the bound."},
      j.violation());
  put({"on_front", "", "Whether no other point is better in every objective."}, j.on_front);
}

void TableRow::put_workload(const StoredWorkload& w) {
  put({"workload", "", "The operator."}, w.name);
  put({"kind", "", "What kind of operator it is."}, w.kind);
  put({"weight", "", "Weight of the operator in totals."}, number_cell(w.weight));
}

// Single elements have a column in every row; nested ones, of the chip's terms and levels, are the only ones that a row
// may add.
void TableRow::put_elements(const api::Prediction& p, bool known, Elements which) {
  base::cells_of(p, [&](const base::Column& cell, Value v) {
    if (which == Elements::kNested ? is_nested(cell.name) : is_single(cell.name))
      put(cell, known ? std::move(v) : Value(nullptr));
  });
}

void TableRow::put_chosen(const StoredPoint& p) {
  if (sweep_.multi_fidelity)
    put({"chosen", "", "Why a multi-fidelity sweep simulates the point."},
        base::unless_empty(std::string(name_of(p.chosen))));
}

void TableRow::put_chip(const StoredPoint& p) { put({"chip", "", "Hash of the chip."}, base::unless_empty(p.chip)); }

}  // namespace tilescope::experiments
