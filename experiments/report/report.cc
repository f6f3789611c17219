// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/report.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/multi_fidelity/result.h"
#include "experiments/report/detail/chips.h"
#include "experiments/report/detail/columns.h"
#include "experiments/report/detail/costs.h"
#include "experiments/report/detail/networks.h"
#include "experiments/report/detail/objectives.h"
#include "experiments/report/detail/rows.h"
#include "experiments/report/detail/sources.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;
using base::Value;

// Axes that are no path of a chip's YAML.
bool is_path(const std::string& axis) { return axis != "base" && axis != "programs" && !axis.starts_with("program."); }

Value numbers(const Times& times) {
  List out;
  out.reserve(times.size());
  for (const auto& t : times) out.push_back(figure(t));
  return out;
}

Value texts(const std::vector<std::string>& column) {
  TextColumn out;
  for (const std::string& t : column) out.add(t);
  return out.take();
}

bool any(const Times& times) {
  return std::any_of(times.begin(), times.end(), [](const auto& t) { return t.has_value(); });
}

Value numbers_if_any(const Times& times) { return any(times) ? numbers(times) : Value(); }

void add_unless_empty(Map& to, std::string_view key, List list) {
  if (!list.empty()) to.push_back({std::string(key), std::move(list)});
}

template <class T, class Of>
List list_of(const std::vector<T>& items, const Of& of) {
  List out;
  for (const T& item : items) out.emplace_back(of(item));
  return out;
}

// Of every axis its values, as the grid has them first, and of every point the number of its value.
std::pair<List, List> axes_of(const StoredSweep& sweep, const std::vector<StoredPoint>& points) {
  List axes, places;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    const StoredAxis& axis = sweep.axes[i];
    Coder<std::string> values;
    std::vector<std::optional<double>> of_values;
    const auto see = [&](const StoredPoint& p) {
      const StoredValue& v = p.at[i];
      if (!v.text.empty() && static_cast<std::size_t>(values.code(v.text)) == of_values.size())
        of_values.push_back(v.number);
    };
    for (const StoredPoint& p : points)
      if (!p.is_base) see(p);
    for (const StoredPoint& p : points) see(p);
    for (const StoredPoint& p : points) p.at[i].text.empty() ? values.add_nothing() : values.add(p.at[i].text);
    axes.emplace_back(Map{{"name", axis.name},
                          {"values", list_of(values.contents(), [](const std::string& t) { return Value(t); })},
                          {"numbers", list_of(of_values, [](const auto& x) { return x ? exact(*x) : Value(); })},
                          {"unit", axis.unit},
                          {"group", axis.group},
                          {"settable", is_path(axis.name)}});
    places.emplace_back(values.take_codes());
  }
  return {std::move(axes), std::move(places)};
}

struct QuantityColumn {
  std::string name, unit;
  Times values;
  std::string of = {};  // ChipQuantity::of
};

// The derived quantities of all points, a column each.
std::vector<QuantityColumn> all_quantities(const Store& store, const std::vector<StoredPoint>& points) {
  std::vector<QuantityColumn> out;
  std::map<std::string, std::vector<ChipQuantity>> of_chips;
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (points[p].chip.empty()) continue;
    const auto [known, is_new] = of_chips.try_emplace(points[p].chip);
    if (is_new) known->second = quantities_of(store.chip(points[p].chip));
    for (const ChipQuantity& q : known->second) {
      auto column = std::find_if(out.begin(), out.end(), [&](const QuantityColumn& c) { return c.name == q.name; });
      if (column == out.end()) column = out.insert(column, {q.name, q.unit, Times(points.size()), q.of});
      column->values[p] = q.value;
    }
  }
  return out;
}

// Whether b is a constant times a, over all points that have both: it tells chips apart as a does.
bool proportional(const QuantityColumn& a, const QuantityColumn& b) {
  constexpr double kSame = 1e-9;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t p = 0; p < a.values.size(); ++p) {
    if (a.values[p].has_value() != b.values[p].has_value()) return false;
    if (!a.values[p] || *a.values[p] == 0) continue;
    least = std::min(least, *b.values[p] / *a.values[p]);
    most = std::max(most, *b.values[p] / *a.values[p]);
  }
  return a.unit == b.unit && most <= least * (1 + kSame);
}

bool varies(const QuantityColumn& c) {
  const auto first = std::find_if(c.values.begin(), c.values.end(), [](const auto& v) { return v.has_value(); });
  return std::any_of(first, c.values.end(), [&](const auto& v) { return v && *v != **first; });
}

// Those that vary, and of proportional ones the first.
List quantities(std::vector<QuantityColumn> all) {
  std::vector<QuantityColumn> kept;
  for (QuantityColumn& c : all)
    if (varies(c) && std::none_of(kept.begin(), kept.end(), [&](const auto& k) { return proportional(k, c); }))
      kept.push_back(std::move(c));
  return list_of(kept, [](const QuantityColumn& c) {
    return Map{{"name", c.name}, {"unit", c.unit}, {"values", numbers(c.values)}};
  });
}

// The peaks and bandwidths of all chips, by instruction and level: each number once, and of every chip which it has.
List roofs_of(const std::vector<QuantityColumn>& all) {
  List out;
  for (const QuantityColumn& c : all) {
    if (c.of.empty()) continue;
    Coder<double> numbers_of;
    for (const auto& v : c.values) v ? numbers_of.add(*v) : numbers_of.add_nothing();
    Map roof{
        {"of", c.of}, {"unit", c.unit}, {"values", list_of(numbers_of.contents(), [](double v) { return figure(v); })}};
    if (varies(c) || std::any_of(c.values.begin(), c.values.end(), [](const auto& v) { return !v; }))
      roof.push_back({"codes", numbers_of.take_codes()});
    out.emplace_back(std::move(roof));
  }
  return out;
}

// Totals of the sources that have any, the one first that the sweep was asked for; of all operators, or some.
List totals(const SweepRows& rows, const std::string& evaluator, const std::vector<bool>& of = {}) {
  List out;
  const auto add = [&](std::string_view source, const Times& times) {
    const Times total = rows.totals(times, of);
    Map entry{{"source", source}, {"total_us", numbers(total)}, {"ratio", numbers(rows.totals_over_base(total))}};
    if (any(times)) out.emplace_back(std::move(entry));
  };
  if (evaluator == "sim") add("simulated", rows.simulated);
  add("predicted", rows.predicted);
  if (evaluator != "sim") add("simulated", rows.simulated);
  return out;
}

// What the chips cost first, unless it is among the objectives, then their derived quantities.
std::vector<QuantityColumn> quantities_of(const Store& store, const SweepRows& rows,
                                          const std::vector<CostParts>& costs, const ReportedObjectives& objectives) {
  std::vector<QuantityColumn> out;
  for (const CostParts& c : costs)
    if (!objectives.have(c.name)) out.push_back({c.name, c.unit, c.sums()});
  for (QuantityColumn& q : all_quantities(store, rows.points)) out.push_back(std::move(q));
  return out;
}

Map chips_of(const StoredSweep& sweep, const SweepRows& rows, List places, std::vector<QuantityColumn> all,
             const std::vector<CostParts>& costs, List violation) {
  TextColumn base, refused;
  List base_of;
  for (std::size_t p = 0; p < rows.points.size(); ++p) {
    base.add(rows.points[p].base);
    refused.add(rows.points[p].refused.empty() ? rows.points[p].pruned : rows.points[p].refused);
    base_of.emplace_back(rows.base_of[p]);
  }
  List roofs = roofs_of(all);
  Map out{{"arch", base.take()},
          {"base", std::move(base_of)},
          {"axis", std::move(places)},
          {"quantities", quantities(std::move(all))},
          {"totals", totals(rows, sweep.evaluator)},
          {"bound", bound_shares(rows)},
          {"refused", refused.take()}};
  add_unless_empty(out, "violation", std::move(violation));
  add_unless_empty(out, "parts", parts_of(costs));
  add_unless_empty(out, "roofs", std::move(roofs));
  return out;
}

// Bands of four digits, so that those of one kind of operator are one.
Value bands_of(const SweepRows& rows) {
  const auto rounded = [](double x) { return fmt::format("{:.4g}", x); };
  Coder<std::string> bands;
  List low, high;
  for (std::size_t row = 0; row < rows.low_ratio.size(); ++row) {
    if (!rows.low_ratio[row]) {
      bands.add_nothing();
      continue;
    }
    const std::size_t before = bands.contents().size();
    bands.add(rounded(*rows.low_ratio[row]) + " " + rounded(*rows.high_ratio[row]));
    if (bands.contents().size() == before) continue;
    low.push_back(figure(*rows.low_ratio[row]));
    high.push_back(figure(*rows.high_ratio[row]));
  }
  return Map{{"low_ratio", std::move(low)}, {"high_ratio", std::move(high)}, {"codes", bands.take_codes()}};
}

Map rows_of(SweepRows& rows, List programs) {
  const Map ratio{{"predicted", numbers(rows.over_base(rows.predicted))},
                  {"simulated", any(rows.simulated) ? numbers(rows.over_base(rows.simulated)) : Value()}};
  Map out{{"predicted_us", numbers(rows.predicted)},
          {"simulated_us", numbers_if_any(rows.simulated)},
          {"measured_us", numbers_if_any(rows.measured)},
          {"ratio", ratio},
          {"band", bands_of(rows)},
          {"bottleneck", texts(rows.bottleneck)},
          {"waves", numbers(rows.waves)},
          {"occupancy", texts(rows.occupancy)},
          {"program", std::move(programs)},
          {"error", texts(rows.error)}};
  if (rows.work.any()) out.push_back({"work", rows.work.take()});
  return out;
}

// The programs that rows refer to, field by field, and of every row the number of its program.
std::pair<Map, List> programs_of(const Store& store, const SweepRows& rows) {
  Coder<std::string> programs;  // by what is shown of them: chips differ in more than a program says
  std::map<std::string, std::string> shown;
  std::vector<std::vector<std::string>> fields(std::size(kProgramFields));
  for (const std::string& hash : rows.program) {
    if (hash.empty()) {
      programs.add_nothing();
      continue;
    }
    const auto [known, is_new] = shown.try_emplace(hash);
    if (is_new) {
      const std::vector<std::string> texts_of = program_texts(store.program(hash));
      known->second = fmt::format("{}", fmt::join(texts_of, "\n"));
      if (static_cast<std::size_t>(programs.code(known->second)) == fields[0].size())
        for (std::size_t i = 0; i < fields.size(); ++i) fields[i].push_back(texts_of[i]);
    }
    programs.add(known->second);
  }
  List out;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (std::any_of(fields[i].begin(), fields[i].end(), [](const std::string& t) { return !t.empty(); }))
      out.emplace_back(Map{{"name", kProgramFields[i]}, {"texts", texts(fields[i])}});
  return {Map{{"fields", std::move(out)}}, programs.take_codes()};
}

Map operators_of(const StoredSweep& sweep) {
  const std::vector<StoredWorkload>& workloads = sweep.workloads;
  const bool sequence = sweep.is_sequence();
  const auto of_sequence = sequence ? options_of_sequence(sweep) : std::nullopt;
  const auto column = [&](const std::function<Value(const StoredWorkload&)>& of) { return list_of(workloads, of); };
  return {{"id", column([](const StoredWorkload& w) { return Value(w.name); })},
          {"kind", column([](const StoredWorkload& w) { return Value(w.kind); })},
          {"weight", column([](const StoredWorkload& w) { return exact(w.weight); })},
          {"about", column([](const StoredWorkload& w) { return Value(about(w)); })},
          {"command",
           column([&](const StoredWorkload& w) { return sequence ? Value(of_sequence) : Value(options_of(w)); })}};
}

List networks_of(const StoredSweep& sweep, const SweepRows& rows) {
  return list_of(networks_of(sweep), [&](const SweptNetwork& n) {
    List operators;
    for (std::size_t w = 0; w < n.of.size(); ++w)
      if (n.of[w]) operators.emplace_back(w);
    return Map{{"name", n.name}, {"operators", std::move(operators)}, {"totals", totals(rows, sweep.evaluator, n.of)}};
  });
}

Map counts_of(const SweepRows& rows) {
  const auto refused = static_cast<std::size_t>(
      std::count_if(rows.points.begin(), rows.points.end(), [](const StoredPoint& p) { return !p.has_rows(); }));
  const auto bases = static_cast<std::size_t>(
      std::count_if(rows.points.begin(), rows.points.end(), [](const StoredPoint& p) { return p.is_base; }));
  return {{"chips", rows.points.size()}, {"bases", bases},
          {"refused", refused},          {"rows", (rows.points.size() - refused) * rows.workloads.size()},
          {"done", rows.done},           {"failed", rows.failed}};
}

// What a sweep's state says, with columns over chips.
Value multi_fidelity_of(const MultiFidelityResult& e) {
  Value out = to_document(e);
  TextColumn chosen;
  Times cost;
  List low, high;  // exact: the page compares them
  for (std::size_t p = 0; p < e.points.size(); ++p) {
    chosen.add(std::string(name_of(e.points[p].chosen)));
    cost.push_back(e.points[p].cost);
    low.emplace_back(e.intervals[p] ? exact(e.intervals[p]->low_us) : Value());
    high.emplace_back(e.intervals[p] ? exact(e.intervals[p]->high_us) : Value());
  }
  out.get_if<Map>()->push_back({"chips", Map{{"chosen", chosen.take()},
                                             {"cost", numbers_if_any(cost)},
                                             {"low_us", std::move(low)},
                                             {"high_us", std::move(high)}}});
  return out;
}

List provenance_of(const Store& store, const StoredSweep& sweep, const std::string& store_path,
                   std::string_view version) {
  const auto fact = [](std::string_view name, std::string text) {
    return Value(List{Value(name), Value(std::move(text))});
  };
  List out{fact("store", store_path), fact("computed by", "tilescope " + store.tool_version()),
           fact("this page by", fmt::format("tilescope {}", version)), fact("evaluator", sweep.evaluator)};
  if (sweep.is_sequence())
    out.push_back(fact("times", "of a sequence: each operator finds in the caches what those before have left there"));
  if (const auto process = running_sweep(store_path))
    out.push_back(fact("note", fmt::format("a sweep was still writing to the store (process {})", *process)));
  return out;
}

}  // namespace

Value report_document(const Store& store, const StoredSweep& sweep, const std::string& store_path,
                      std::string_view version, List sensitivities) {
  SweepRows rows(store, sweep);
  const auto multi_fidelity = multi_fidelity_result(store, sweep);
  auto [axes, places] = axes_of(sweep, rows.points);
  auto [programs, program_codes] = programs_of(store, rows);
  const std::vector<CostParts> costs = costs_of(sweep, rows);
  ReportedObjectives objectives = objectives_of(store, sweep);
  std::vector<QuantityColumn> quantities = quantities_of(store, rows, costs, objectives);
  Map out{{"report", kReportFormat},
          {"title", sweep.title},
          {"version", version},
          {"provenance", provenance_of(store, sweep, store_path, version)},
          {"sweep", Map{{"file", sweep.file}, {"text", sweep.text}, {"sequence", sweep.is_sequence()}}},
          {"counts", counts_of(rows)},
          {"operators", operators_of(sweep)},
          {"networks", networks_of(sweep, rows)},
          {"axes", std::move(axes)},
          {"chips",
           chips_of(sweep, rows, std::move(places), std::move(quantities), costs, std::move(objectives.violation))},
          {"rows", rows_of(rows, std::move(program_codes))},
          {"programs", std::move(programs)},
          {"accuracy", accuracy_of(rows)},
          {"multi_fidelity", multi_fidelity ? multi_fidelity_of(*multi_fidelity) : Value()}};
  add_unless_empty(out, "objectives", std::move(objectives.objectives));
  add_unless_empty(out, "constraints", std::move(objectives.constraints));
  add_unless_empty(out, "bases", bases_of(store, sweep, rows));
  add_unless_empty(out, "sensitivities", std::move(sensitivities));
  return out;
}

}  // namespace tilescope::experiments
