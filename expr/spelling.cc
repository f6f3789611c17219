// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "expr/parse.h"

namespace tilescope::expr {
namespace {

constexpr std::array<std::string_view, 5> kReducers = {"=", "+=!", "max=!", "min=!", "mean=!"};
constexpr std::array<std::string_view, 11> kFunctions = {"exp", "log",  "sqrt", "rsqrt", "tanh", "sigmoid",
                                                         "erf", "relu", "abs",  "max",   "min"};

}  // namespace

std::string_view spelling(Reducer r) { return kReducers.at(static_cast<std::size_t>(r)); }

std::string_view spelling(Function f) { return kFunctions.at(static_cast<std::size_t>(f)); }

std::vector<std::string_view> reducer_spellings() { return {kReducers.begin(), kReducers.end()}; }

std::vector<std::string_view> function_spellings() { return {kFunctions.begin(), kFunctions.end()}; }

int arity(Function f) { return f == Function::kMax || f == Function::kMin ? 2 : 1; }

}  // namespace tilescope::expr
