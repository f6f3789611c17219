// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules that depend on the micro-kernel. Each function has an overload for every kind.

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "tile/program.h"

namespace tilescope::tile {

// Number of contiguous results of one lane along the output's innermost dimension, as the instruction determines it;
// nullopt where the program's mapping assigns results to threads.
std::optional<std::int64_t> neighbouring_results(const Fma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Mma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Wgmma&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Tcgen05&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const Epilogue&, const StageProgram& p);
std::optional<std::int64_t> neighbouring_results(const RowReduction&, const StageProgram& p);

// Rows of a cached tile begin at multiples of this number of elements, given padding and rotation; 0: any number.
std::int64_t row_shift(const Fma&, const OperandPlan& plan);
std::int64_t row_shift(const Mma&, const OperandPlan& plan);
std::int64_t row_shift(const Wgmma&, const OperandPlan& plan);  // rows are padded between their pieces
std::int64_t row_shift(const Tcgen05&, const OperandPlan& plan);
std::int64_t row_shift(const Epilogue&, const OperandPlan& plan);
std::int64_t row_shift(const RowReduction&, const OperandPlan& plan);

// Why the micro-kernel cannot read the program's cached tiles; empty where it can.
std::string tiles_refusal(const Fma&, const StageProgram& p);
std::string tiles_refusal(const Mma&, const StageProgram& p);
std::string tiles_refusal(const Wgmma&, const StageProgram& p);
std::string tiles_refusal(const Tcgen05&, const StageProgram& p);
std::string tiles_refusal(const Epilogue&, const StageProgram& p);
std::string tiles_refusal(const RowReduction&, const StageProgram& p);

// Whether the stage has tiles and threads of its own, not those of the stage whose results it continues.
constexpr bool has_own_tiles(const Fma&) { return true; }
constexpr bool has_own_tiles(const Mma&) { return true; }
constexpr bool has_own_tiles(const Wgmma&) { return true; }
constexpr bool has_own_tiles(const Tcgen05&) { return true; }
constexpr bool has_own_tiles(const Epilogue&) { return false; }
constexpr bool has_own_tiles(const RowReduction&) { return false; }

// Whether it reads a cached tile by rows, as a stage before leaves its results.
constexpr bool reads_rows(const Fma&) { return true; }
constexpr bool reads_rows(const Mma&) { return true; }
constexpr bool reads_rows(const Wgmma&) { return false; }
constexpr bool reads_rows(const Tcgen05&) { return false; }
constexpr bool reads_rows(const Epilogue&) { return true; }
constexpr bool reads_rows(const RowReduction&) { return true; }

// Whether single threads add up, so that several may share a reduction.
constexpr bool adds_by_threads(const Fma&) { return true; }
constexpr bool adds_by_threads(const Mma&) { return false; }
constexpr bool adds_by_threads(const Wgmma&) { return false; }
constexpr bool adds_by_threads(const Tcgen05&) { return false; }
constexpr bool adds_by_threads(const Epilogue&) { return true; }
constexpr bool adds_by_threads(const RowReduction&) { return true; }

// Whether one thread issues its instructions for the block, which adds up in tensor memory.
constexpr bool issued_for_block(const auto& /*other*/) { return false; }
constexpr bool issued_for_block(const Tcgen05&) { return true; }

// Whether lanes hold one result a row of what an earlier stage has in registers.
constexpr bool holds_rows(const Fma&) { return false; }
constexpr bool holds_rows(const Mma&) { return false; }
constexpr bool holds_rows(const Wgmma&) { return false; }
constexpr bool holds_rows(const Tcgen05&) { return false; }
constexpr bool holds_rows(const Epilogue&) { return false; }
constexpr bool holds_rows(const RowReduction&) { return true; }

// As tile/program.h declares it.
double fragment_elements(const Fma&, const StageProgram& p, std::size_t operand);
double fragment_elements(const Mma&, const StageProgram& p, std::size_t operand);
double fragment_elements(const Wgmma&, const StageProgram& p, std::size_t operand);
double fragment_elements(const Tcgen05&, const StageProgram& p, std::size_t operand);
double fragment_elements(const Epilogue&, const StageProgram& p, std::size_t operand);
double fragment_elements(const RowReduction&, const StageProgram& p, std::size_t operand);

// Calls `ask` with the program's micro-kernel.
template <class Question>
auto of_micro_kernel(const StageProgram& p, const Question& ask) {
  return std::visit(ask, p.micro_kernel);
}
inline bool has_own_tiles(const StageProgram& p) {
  return of_micro_kernel(p, [](const auto& kernel) { return has_own_tiles(kernel); });
}
inline bool reads_rows(const StageProgram& p) {
  return of_micro_kernel(p, [](const auto& kernel) { return reads_rows(kernel); });
}
inline bool holds_rows(const StageProgram& p) {
  return of_micro_kernel(p, [](const auto& kernel) { return holds_rows(kernel); });
}
inline bool adds_by_threads(const StageProgram& p) {
  return of_micro_kernel(p, [](const auto& kernel) { return adds_by_threads(kernel); });
}

}  // namespace tilescope::tile
