// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of `tilescope compile` for people.

#include <optional>
#include <vector>

#include "api/compile.h"
#include "arch/spec.h"
#include "experiments/accuracy/published.h"

namespace tilescope::cli {

// Prints the programs of one operator, each with every term of its time, which shows why one is slower than another.
// The operator must have programs.
void print_operator(const api::CompiledOperator& op, const arch::ArchSpec& a);

// Prints the configurations of an operator that a published policy ranks.
void print_configurations(const api::CompiledOperator& op, const arch::ArchSpec& a);

// Prints one row per operator: its best program, next to the time that was published for it on this chip; then the
// errors against the published times, by kind of operator and over all.
void print_suite(const std::vector<api::CompiledOperator>& operators,
                 const std::optional<experiments::PublishedTimes>& published);

// Prints one row per operator: what its construction cost and, for a single stage, the largest share of its time by
// which the first program may be beaten; then the sums.
void print_stats(const std::vector<api::CompiledOperator>& operators);

// Prints power and energy of every operator's first program, and its time at the clock that the board's limit leaves.
void print_energy(const std::vector<api::CompiledOperator>& operators);

// Prints one row per program that the chip's compiler compiled: its assumed and its actual resources.
void print_usage(const std::vector<api::CompiledOperator>& operators);

}  // namespace tilescope::cli
