// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each micro-kernel makes of a program's layout. Each question has an answer for every entry, in the file of its
// name.

#include <optional>
#include <string>

#include "tile/program.h"

namespace tilescope::tile {

// Results of one lane that the instruction puts side by side along the output's innermost dimension; nothing where the
// program's mapping says which thread has which.
std::optional<std::int64_t> neighbouring_results(const Fma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Mma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Wgmma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Epilogue&, const StageProgram& p);

// The number of elements of which rows of a cached tile begin at multiples, given their padding and rotation; 0: any.
std::int64_t row_shift(const Fma&, const OperandPlan& plan);
std::int64_t row_shift(const Mma&, const OperandPlan& plan);
std::int64_t row_shift(const Wgmma&, const OperandPlan& plan);  // padded between the pieces of a row
std::int64_t row_shift(const Epilogue&, const OperandPlan& plan);

// Why the micro-kernel cannot read the program's cached tiles; empty where it can.
std::string tiles_refusal(const Fma&, const StageProgram& p);
std::string tiles_refusal(const Mma&, const StageProgram& p);
std::string tiles_refusal(const Wgmma&, const StageProgram& p);
std::string tiles_refusal(const Epilogue&, const StageProgram& p);

// Asks a question of the program's own micro-kernel.
template <class Question>
auto of_micro_kernel(const StageProgram& p, const Question& ask) {
  return std::visit(ask, p.micro_kernel);
}

}  // namespace tilescope::tile
