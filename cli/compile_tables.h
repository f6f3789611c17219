// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `tilescope compile` shows to people.

#include <optional>
#include <vector>

#include "api/compile.h"
#include "arch/spec.h"
#include "experiments/accuracy/published.h"

namespace tilescope::cli {

// The programs of one operator, which has some, each with every term of its time: why one is slower than the other.
void print_operator(const api::CompiledOperator& op, const arch::ArchSpec& a);

// The configurations of an operator that a published policy ranks.
void print_configurations(const api::CompiledOperator& op, const arch::ArchSpec& a);

// One row per operator: its best program, beside what was published for the suite on this chip; then by how much the
// two differ, by kind of operator and in all.
void print_suite(const std::vector<api::CompiledOperator>& operators,
                 const std::optional<experiments::PublishedTimes>& published);

// One row per operator: what its construction cost, and of a single stage by how much a program may beat the first one
// at most; then the sums.
void print_stats(const std::vector<api::CompiledOperator>& operators);

// One row per program that the chip's compiler was given: what was assumed of it, and what it takes.
void print_usage(const std::vector<api::CompiledOperator>& operators);

}  // namespace tilescope::cli
