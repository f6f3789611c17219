// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules that depend on the micro-kernel. Each function has an overload for every kind.

#include <optional>
#include <string>

#include "tile/program.h"

namespace tilescope::tile {

// Number of contiguous results of one lane along the output's innermost dimension, as the instruction determines it;
// nullopt where the program's mapping assigns results to threads.
std::optional<std::int64_t> neighbouring_results(const Fma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Mma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Wgmma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Epilogue&, const StageProgram& p);

// Rows of a cached tile begin at multiples of this number of elements, given padding and rotation; 0: any number.
std::int64_t row_shift(const Fma&, const OperandPlan& plan);
std::int64_t row_shift(const Mma&, const OperandPlan& plan);
std::int64_t row_shift(const Wgmma&, const OperandPlan& plan);  // rows are padded between their pieces
std::int64_t row_shift(const Epilogue&, const OperandPlan& plan);

// Why the micro-kernel cannot read the program's cached tiles; empty where it can.
std::string tiles_refusal(const Fma&, const StageProgram& p);
std::string tiles_refusal(const Mma&, const StageProgram& p);
std::string tiles_refusal(const Wgmma&, const StageProgram& p);
std::string tiles_refusal(const Epilogue&, const StageProgram& p);

// Calls `ask` with the program's micro-kernel.
template <class Question>
auto of_micro_kernel(const StageProgram& p, const Question& ask) {
  return std::visit(ask, p.micro_kernel);
}

}  // namespace tilescope::tile
