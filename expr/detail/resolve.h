// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first half of inference: names become integers, and every mistake in how they are used is reported.

#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"

namespace tilescope::expr {

// An expression whose axis sizes and tensor shapes are still open, with the places that later messages show.
struct Draft {
  Expression e;
  std::vector<base::Position> output_at;                    // by stage
  std::vector<std::vector<base::Position>> axis_at;         // by stage and axis: its first use
  std::vector<std::vector<base::Position>> read_at;         // by stage and read
  std::vector<std::vector<std::optional<double>>> outside;  // by stage and read: the given value outside the tensor
  std::vector<std::size_t> rank;                            // by tensor
  std::vector<base::Position> tensor_at;                    // by tensor: its first use
};

// Nothing where anything is wrong with the names, the order of the stages or the ranks.
std::optional<Draft> resolve(const Problem& problem, const std::vector<ParsedStage>& stages, base::Diagnostics& diags);

// Index of the tensor or axis of that name, or nothing.
std::optional<std::size_t> find_tensor(const Expression& e, std::string_view name);
std::optional<std::size_t> find_axis(const Stage& stage, std::string_view name);

}  // namespace tilescope::expr
