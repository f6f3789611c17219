// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of `tilescope explain` for people.

#include <string>
#include <vector>

#include "api/explain.h"

namespace tilescope::cli {

// One operator: what binds, the terms of its time, and the numbers that it answers to. Nothing of one without a
// program.
void print_explained(const api::ExplainedOperator& op, const std::string& chip);

// A suite: what binds each operator and the three numbers that it answers to most, then the mean over all.
void print_explained_suite(const std::vector<api::ExplainedOperator>& operators);

}  // namespace tilescope::cli
