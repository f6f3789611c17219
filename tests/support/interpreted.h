// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels run by the interpreter.

#include <random>
#include <string>
#include <vector>

#include "lower/expected_values.h"
#include "lower/interpret.h"

namespace tilescope::tests {

// What of the interpreted outputs is not what plain loops give; empty where all is.
inline std::string wrong_outputs(const tile::RProgram& p, const lower::Module& m) {
  std::mt19937 random(1);
  lower::NamedValues values;
  lower::add_expected_values(p, random, values);
  std::vector<expr::Values> globals = lower::globals_of(m, values);
  lower::interpret(m, std::vector<double>(m.scalars.size(), lower::kScalar), globals);
  std::string out;
  for (std::size_t g = 0; g < globals.size(); ++g)
    if (m.globals[g].role == lower::Role::kOutput && globals[g] != values.at(m.globals[g].name))
      out += m.globals[g].name;
  return out;
}

// The same, or why the interpreter refuses the kernels.
inline std::string interpreter_result(const tile::RProgram& p, const lower::Module& m) {
  try {
    return wrong_outputs(p, m);
  } catch (const lower::KernelError& e) {
    return e.what();
  }
}

}  // namespace tilescope::tests
