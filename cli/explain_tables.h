// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of `tilescope explain` for people.

#include <string>
#include <vector>

#include "api/explain.h"

namespace tilescope::cli {

// Prints one operator: its bottleneck, the terms of its time, and the numbers of the chip that it depends on. Prints
// nothing for an operator without a program.
void print_explained(const api::ExplainedOperator& op, const std::string& chip);

// Prints a suite: the bottleneck of each operator and the three numbers of the chip that it depends on most, then the
// means over all operators.
void print_explained_suite(const std::vector<api::ExplainedOperator>& operators);

}  // namespace tilescope::cli
