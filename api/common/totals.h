// SPDX-License-Identifier: Apache-2.0
#pragma once
// Totals over a list of operators, each counted as often as it occurs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/describe.h"

namespace tilescope::api {

using base::to_entries;

// One operator, with the time of one occurrence if it has one.
struct TimedOperator {
  std::int64_t count = 1;
  std::optional<double> us;
  double operations = 0;  // of one occurrence
  std::string bound_by;   // the bottleneck of its time
};

struct BoundRatio {
  std::string bottleneck;
  double ratio = 0;
};

template <class V>
void describe(V& v, base::Is<BoundRatio> auto& b) {
  v.field({"bottleneck", "", "What bounds operators."}, b.bottleneck);
  v.field({"ratio", "", "Share of the time that these operators take."}, b.ratio);
}

struct Totals {
  std::size_t operators = 0, timed = 0;
  std::int64_t count = 0;
  double us = 0, operations = 0;
  std::vector<BoundRatio> bound_ratios;  // largest first
  bool simulated = false;                // whether times are the simulator's, not the model's

  // The share of the total time that all occurrences of the operator take; nullopt if it has no time.
  std::optional<double> share_of(const TimedOperator& op) const;
};

template <class V>
void describe(V& v, base::Is<Totals> auto& t) {
  v.field({"operators", "", "How many operators."}, t.operators);
  v.field({"timed", "", "Operators that have a time; what follows is of these."}, t.timed);
  v.field({"count", "", "Occurrences of the operators."}, t.count);
  v.field({t.simulated ? "simulated_us" : "predicted_us", "us", "Time of all occurrences."}, t.us);
  v.field({"operations", "", "Arithmetic operations of all occurrences."}, t.operations);
  v.field({"gflops", "GFLOP/s", "Operations over time."}, t.us > 0 ? t.operations / t.us * 1e-3 : 0.0);
  v.list({"bound", "", "Shares of the time by bottleneck, largest first."}, t.bound_ratios);
}

Totals totals_of(const std::vector<TimedOperator>& operators);

// Every row as an operator of a list, by the function timed of its type.
template <class Row>
std::vector<TimedOperator> timed_operators(const std::vector<Row>& rows) {
  std::vector<TimedOperator> out;
  for (const Row& r : rows) out.push_back(timed(r));
  return out;
}

// One program of an operator of a list.
struct TimedProgram {
  std::string operator_id;
  TimedOperator timed;
};

// The rows that have a count, as programs of the operator that their group, or without one their id, names.
template <class Row>
std::vector<TimedProgram> counted_programs(const std::vector<Row>& rows) {
  std::vector<TimedProgram> out;
  for (const Row& r : rows)
    if (r.count) out.push_back({r.group.empty() ? r.id : r.group, timed(r)});
  return out;
}

// Totals over the operators, each by its fastest program; nullopt if there are no programs.
std::optional<Totals> totals_of(const std::vector<TimedProgram>& programs);

// Operations per second; nullopt without a time.
std::optional<double> rate_of(const TimedOperator& op);

}  // namespace tilescope::api
