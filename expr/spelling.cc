// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "expr/parse.h"

namespace tilescope::expr {
namespace {

constexpr auto kReducers = std::to_array<std::string_view>({"=", "+=!", "max=!", "min=!", "*=!", "mean=!"});

// By Function.
struct Facts {
  std::string_view spelling;
  int operands = 1;
  bool approximated = true;
};
constexpr auto kFunctions = std::to_array<Facts>({
    {"exp"},
    {"log"},
    {"sqrt"},
    {"rsqrt"},
    {"tanh"},
    {"sigmoid"},
    {"erf"},
    {"relu", 1, false},
    {"abs", 1, false},
    {"max", 2, false},
    {"min", 2, false},
    {"pow", 2},
    {"sin"},
    {"cos"},
    {"floor", 1, false},
    {"ceil", 1, false},
    {"round", 1, false},
    {"sign", 1, false},
    {"<", 2, false},
    {"<=", 2, false},
    {">", 2, false},
    {">=", 2, false},
    {"==", 2, false},
    {"!=", 2, false},
    {"&&", 2, false},
    {"||", 2, false},
    {"!", 1, false},
    {"select", 3, false},
    {"%", 2},
});
static_assert(kFunctions.size() == static_cast<std::size_t>(Function::kMod) + 1);

const Facts& facts_of(Function f) { return kFunctions.at(static_cast<std::size_t>(f)); }

}  // namespace

std::string_view spelling(Reducer r) { return kReducers.at(static_cast<std::size_t>(r)); }

std::string_view spelling(Function f) { return facts_of(f).spelling; }

std::vector<std::string_view> reducer_spellings() { return {kReducers.begin(), kReducers.end()}; }

std::vector<std::string_view> function_spellings() {
  std::vector<std::string_view> out;
  for (const Facts& f : kFunctions) out.push_back(f.spelling);
  return out;
}

int arity(Function f) { return facts_of(f).operands; }

bool is_approximated(Function f) { return facts_of(f).approximated; }

}  // namespace tilescope::expr
