// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/text.h"

#include <algorithm>
#include <array>

#include "base/diagnostics.h"
#include "experiments/store/detail/corrupt_store.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;
using base::Value;

[[noreturn]] void damaged() { throw CorruptStore(); }

template <class T>
const T& as(const Value& v) {
  const T* value = v.get_if<T>();
  if (value == nullptr) damaged();
  return *value;
}

const Value& at(const Value& map, std::string_view key) {
  const Value* v = map.find(key);
  if (v == nullptr) damaged();
  return *v;
}

double number(const Value& v) {
  if (const auto* whole = v.get_if<std::int64_t>()) return static_cast<double>(*whole);
  return as<double>(v);
}

std::optional<double> number_of(const Value* v) {
  return v == nullptr || v->is_null() ? std::nullopt : std::optional(number(*v));
}

// One item of a list for each of the rows.
template <class Row, class Make>
std::string text_of_rows(const std::vector<Row>& rows, const Make& make) {
  List out;
  for (const Row& r : rows) out.emplace_back(make(r));
  return base::to_json(std::move(out));
}

template <class Make>
auto rows_of_text(const std::string& text, const Make& make) {
  std::vector<decltype(make(Value()))> out;
  const Value document = document_of_text(text);
  for (const Value& item : as<List>(document)) out.push_back(make(item));
  return out;
}

constexpr std::array<std::string_view, 5> kChosen = {"", "base", "front", "neighbour", "validation"};
constexpr std::array<std::string_view, 3> kStages = {"none", "front and validation", "neighbours"};

template <std::size_t n>
std::size_t index_in(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) damaged();
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::string_view name_of(Chosen chosen) { return kChosen[static_cast<std::size_t>(chosen)]; }

Chosen chosen_of_text(const std::string& text) { return static_cast<Chosen>(index_in(kChosen, text)); }

std::string text_of(const std::optional<StoredMultiFidelity>& e) {
  if (!e) return {};
  return base::to_json(Map{{"mode", e->mode},
                           {"front", e->front},
                           {"validation_sample", e->validation_sample},
                           {"neighbours", e->neighbours},
                           {"seed", e->seed},
                           {"cost", e->cost},
                           {"chosen", kStages[static_cast<std::size_t>(e->chosen)]}});
}

std::optional<StoredMultiFidelity> multi_fidelity_of_text(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const Value document = document_of_text(text);
  StoredMultiFidelity out{as<std::string>(at(document, "mode"))};
  out.front = as<bool>(at(document, "front"));
  out.validation_sample = static_cast<std::size_t>(as<std::int64_t>(at(document, "validation_sample")));
  if (const Value& n = at(document, "neighbours"); !n.is_null())
    out.neighbours = static_cast<std::size_t>(as<std::int64_t>(n));
  out.seed = as<std::int64_t>(at(document, "seed"));
  out.cost = as<std::string>(at(document, "cost"));
  out.chosen = static_cast<StoredMultiFidelity::Stage>(index_in(kStages, as<std::string>(at(document, "chosen"))));
  return out;
}

std::string text_of(const std::optional<StoredObjectives>& o) {
  if (!o) return {};
  List objectives, constraints, inputs;
  for (const StoredObjective& f : o->objectives)
    objectives.emplace_back(Map{{"name", f.name}, {"formula", f.formula}, {"most", f.most}});
  for (const std::string& c : o->constraints) constraints.emplace_back(c);
  for (const std::string& i : o->inputs) inputs.emplace_back(i);
  return base::to_json(Map{
      {"objectives", std::move(objectives)}, {"constraints", std::move(constraints)}, {"inputs", std::move(inputs)}});
}

std::optional<StoredObjectives> objectives_of_text(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const Value document = document_of_text(text);
  StoredObjectives out;
  for (const Value& f : as<List>(at(document, "objectives")))
    out.objectives.push_back(
        {as<std::string>(at(f, "name")), as<std::string>(at(f, "formula")), as<bool>(at(f, "most"))});
  for (const Value& c : as<List>(at(document, "constraints"))) out.constraints.push_back(as<std::string>(c));
  for (const Value& i : as<List>(at(document, "inputs"))) out.inputs.push_back(as<std::string>(i));
  return out;
}

std::string text_of(const std::optional<StoredPlan>& p) {
  if (!p) return {};
  return base::to_json(Map{{"plan", p->text}, {"points", p->points}, {"ended", p->ended}});
}

std::optional<StoredPlan> plan_of_text(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const Value document = document_of_text(text);
  return StoredPlan{as<std::string>(at(document, "plan")),
                    static_cast<std::size_t>(as<std::int64_t>(at(document, "points"))),
                    as<bool>(at(document, "ended"))};
}

std::string text_of(const std::vector<std::optional<double>>& inputs) {
  return inputs.empty() ? std::string() : text_of_rows(inputs, [](const auto& i) { return Value(i); });
}

std::vector<std::optional<double>> inputs_of_text(const std::string& text) {
  if (text.empty()) return {};
  return rows_of_text(text, [](const Value& v) { return number_of(&v); });
}

Value document_of_text(const std::string& text) {
  base::Diagnostics own;
  auto document = base::read_json(text, own.add_source("store"), own);
  if (!document) damaged();
  return std::move(*document);
}

api::Simulation simulation_of_text(const std::string& text) {
  auto simulation = base::row_of<api::Simulation>(document_of_text(text));
  if (!simulation) damaged();
  return std::move(*simulation);
}

std::string text_of(const std::vector<StoredValue>& values) {
  return text_of_rows(values, [](const StoredValue& v) { return List{v.text, v.number}; });
}

std::vector<StoredValue> values_of_text(const std::string& text) {
  return rows_of_text(text, [](const Value& v) {
    const List& pair = as<List>(v);
    if (pair.size() != 2) damaged();
    return StoredValue{as<std::string>(pair[0]), number_of(&pair[1])};
  });
}

std::string text_of(const std::vector<StoredDifference>& differences) {
  return text_of_rows(differences, [](const StoredDifference& d) { return List{d.path, d.from, d.to}; });
}

std::vector<StoredDifference> differences_of_text(const std::string& text) {
  return rows_of_text(text, [](const Value& v) {
    const List& three = as<List>(v);
    if (three.size() != 3) damaged();
    return StoredDifference{as<std::string>(three[0]), as<std::string>(three[1]), as<std::string>(three[2])};
  });
}

std::string text_of(const std::vector<StoredAxis>& axes) {
  return text_of_rows(axes,
                      [](const StoredAxis& a) { return Map{{"name", a.name}, {"unit", a.unit}, {"group", a.group}}; });
}

std::vector<StoredAxis> axes_of_text(const std::string& text) {
  return rows_of_text(text, [](const Value& v) {
    StoredAxis out{as<std::string>(at(v, "name")), as<std::string>(at(v, "unit")), std::nullopt};
    if (const Value& group = at(v, "group"); !group.is_null())
      out.group = static_cast<std::size_t>(as<std::int64_t>(group));
    return out;
  });
}

std::string text_of(const NumberNames& names) {
  Map out;
  for (const auto& [column, list] : names) out.push_back({column, List(list.begin(), list.end())});
  return base::to_json(std::move(out));
}

NumberNames names_of_text(const std::string& text) {
  const Value document = document_of_text(text);
  NumberNames out;
  for (const base::Entry& e : as<Map>(document)) {
    auto& list = out.emplace_back(e.key, std::vector<std::string>()).second;
    for (const Value& name : as<List>(e.value)) list.push_back(as<std::string>(name));
  }
  return out;
}

}  // namespace tilescope::experiments
