// SPDX-License-Identifier: Apache-2.0
#include "experiments/common/simulation.h"

#include <algorithm>
#include <array>

namespace tilescope::experiments {
namespace {

// Names of a level's amounts, and where they are kept.
struct Amount {
  const char* key;
  std::int64_t SimulatedLevel::* value;
};
constexpr std::array<Amount, 5> kAmounts = {{{"read_bytes", &SimulatedLevel::read_bytes},
                                             {"written_bytes", &SimulatedLevel::written_bytes},
                                             {"requests", &SimulatedLevel::requests},
                                             {"transactions", &SimulatedLevel::transactions},
                                             {"hits", &SimulatedLevel::hits}}};

// Thrown where a row lacks a key, or a value has another type.
struct NoSimulation {};

const base::Value& at(const base::Value& map, std::string_view key) {
  const base::Value* v = map.find(key);
  if (v == nullptr) throw NoSimulation{};
  return *v;
}

template <class T>
const T& as(const base::Value& v) {
  const T* value = v.get_if<T>();
  if (value == nullptr) throw NoSimulation{};
  return *value;
}

double number(const base::Value& v) {
  if (const auto* whole = v.get_if<std::int64_t>()) return static_cast<double>(*whole);
  return as<double>(v);
}

base::Map to_map(const ScaledSimulation& s) {
  base::Map map = {{"scale", s.scale, {}}, {"mode", s.refused.empty() ? "scaled" : "sampled", {}}};
  if (s.validation > 0)
    base::append(
        map, {{"scaled_us", s.us, {}}, {"validation_scale", s.validation, {}}, {"validation_us", s.validation_us, {}}});
  if (!s.refused.empty()) map.push_back({"refused", s.refused, {}});
  return map;
}

ScaledSimulation scaled_of(const base::Value& map) {
  ScaledSimulation s;
  s.scale = as<std::int64_t>(at(map, "scale"));
  if (const base::Value* validation = map.find("validation_scale")) {
    s.validation = as<std::int64_t>(*validation);
    s.us = number(at(map, "scaled_us"));
    s.validation_us = number(at(map, "validation_us"));
  }
  if (const base::Value* refused = map.find("refused")) s.refused = as<std::string>(*refused);
  return s;
}

}  // namespace

base::Map to_entries(const std::vector<SimulatedLevel>& levels) {
  base::Map entries;
  for (const SimulatedLevel& l : levels) {
    base::Map level;
    for (const Amount& a : kAmounts) level.push_back({a.key, l.*a.value, {}});
    entries.push_back({l.name, std::move(level), {}});
  }
  return entries;
}

base::Map to_entries(const Simulation& s) {
  base::Map stalls;
  for (const StallRow& r : s.stalls) stalls.push_back({r.name + "_cycles", r.cycles, {}});
  base::Map row{{"simulated_us", s.simulated_us, {}},
                {"cycles", s.cycles, {}},
                {"stalls", std::move(stalls), {}},
                {"levels", to_entries(s.levels), {}},
                {"blocks", s.blocks, {}},
                {"simulated_ratio", s.simulated_ratio, {}},
                {"exact", s.exact, {}}};
  if (s.scaled) row.push_back({"scaled", to_map(*s.scaled), {}});
  return row;
}

std::optional<Simulation> simulation_of(const base::Value& row) try {
  Simulation s;
  s.simulated_us = number(at(row, "simulated_us"));
  s.cycles = as<std::int64_t>(at(row, "cycles"));
  for (const base::Entry& e : as<base::Map>(at(row, "stalls")))
    s.stalls.push_back({e.key.substr(0, e.key.rfind("_cycles")), as<std::int64_t>(e.value)});
  for (const base::Entry& e : as<base::Map>(at(row, "levels"))) {
    SimulatedLevel& level = s.levels.emplace_back();
    level.name = e.key;
    for (const Amount& a : kAmounts) level.*a.value = as<std::int64_t>(at(e.value, a.key));
  }
  s.blocks = as<std::int64_t>(at(row, "blocks"));
  s.simulated_ratio = number(at(row, "simulated_ratio"));
  s.exact = as<bool>(at(row, "exact"));
  if (const base::Value* scaled = row.find("scaled")) s.scaled = scaled_of(*scaled);
  return s;
} catch (const NoSimulation&) {
  return std::nullopt;
}

const StallRow& longest_stall(const Simulation& s) {
  return *std::max_element(s.stalls.begin(), s.stalls.end(),
                           [](const StallRow& a, const StallRow& b) { return a.cycles < b.cycles; });
}

}  // namespace tilescope::experiments
