// SPDX-License-Identifier: Apache-2.0
#pragma once
// Totals over a list of operators, each counted as often as it occurs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"

namespace tilescope::api {

// One operator, with the time of one occurrence if it has one.
struct TimedOperator {
  std::int64_t count = 1;
  std::optional<double> us;
  double operations = 0;  // of one occurrence
  std::string bound_by;   // the bottleneck of its time
};

struct Totals {
  std::size_t operators = 0, timed = 0;  // all, and those with a time; the other members are of the latter
  std::int64_t count = 0;                // occurrences
  double us = 0, operations = 0;
  std::vector<std::pair<std::string, double>> bound_ratios;  // share of the time by bottleneck, largest first

  // The share of the total time that all occurrences of the operator take; nullopt if it has no time.
  std::optional<double> share_of(const TimedOperator& op) const;
};

Totals totals_of(const std::vector<TimedOperator>& operators);

// One program of an operator of a list. totals_of ignores programs without a count.
struct TimedProgram {
  std::string operator_id;
  std::optional<std::int64_t> count;
  std::optional<double> us;
  double operations = 0;
  std::string bound_by;
};

// Totals over the operators, each by its fastest program; nullopt if no program has a count.
std::optional<Totals> totals_of(const std::vector<TimedProgram>& programs);

// Operations per second; nullopt without a time.
std::optional<double> rate_of(const TimedOperator& op);

// {"operators","timed","count",TIME_KEY,"operations","gflops","bound":[{"bottleneck","ratio"}]}.
base::Value to_document(const Totals& totals, const std::string& time_key);

}  // namespace tilescope::api
