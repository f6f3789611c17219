// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the operators of a list take together, each as often as it occurs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"

namespace tilescope::api {

// One operator with the time of one occurrence, where it has one.
struct TimedOperator {
  std::int64_t count = 1;
  std::optional<double> us;
  double operations = 0;  // of one occurrence
  std::string bound_by;   // the bottleneck of its time
};

struct Totals {
  std::size_t operators = 0, timed = 0;  // the latter have a time; what follows is of them
  std::int64_t count = 0;                // occurrences
  double us = 0, operations = 0;
  std::vector<std::pair<std::string, double>> bound_ratios;  // of the time, by what bounds it, the largest first

  // Of all time, what the operator takes with all its occurrences; nothing where it has no time.
  std::optional<double> share_of(const TimedOperator& op) const;
};

Totals totals_of(const std::vector<TimedOperator>& operators);

// One program of an operator of a list; without a count it is of none.
struct TimedProgram {
  std::string operator_id;
  std::optional<std::int64_t> count;
  std::optional<double> us;
  double operations = 0;
  std::string bound_by;
};

// What the operators take together, each by its fastest program; nothing where no program has a count.
std::optional<Totals> totals_of(const std::vector<TimedProgram>& programs);

// Operations a second; nothing without a time.
std::optional<double> rate_of(const TimedOperator& op);

// {"operators","timed","count",TIME_KEY,"operations","gflops","bound":[{"bottleneck","ratio"}]}.
base::Value to_document(const Totals& totals, const std::string& time_key);

}  // namespace tilescope::api
