// Lowered programs, interpreted, against plain loops.

#include "lower/interpret.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/random_program.h"
#include "tests/support/run_program.h"

namespace tilescope::lower {
namespace {

using tests::NamedValues;

const arch::ArchSpec& v100() {
  static const arch::ArchSpec chip = tests::chip("v100");
  return chip;
}

// What of the interpreted outputs is not what plain loops give; empty where all is.
std::string differences(const tile::RProgram& p, const Module& m) {
  std::mt19937 random(1);
  NamedValues values;
  tests::run_reference(p, random, values);
  std::vector<expr::Values> globals = tests::globals_of(m, values);
  interpret(m, std::vector<double>(m.scalars.size(), 0.5), globals);
  std::string out;
  for (std::size_t g = 0; g < globals.size(); ++g)
    if (m.globals[g].role == Role::kOutput && globals[g] != values.at(m.globals[g].name)) out += m.globals[g].name;
  return out;
}

RC_GTEST_PROP(Interpret, AnyProgramOfAnyOperatorComputesTheReference, ()) {
  const expr::Expression e = tests::any_operator(7);
  tile::StageProgram stage = tests::any_program(e, 64);
  tile::RProgram p{"v100", {stage}, {}};
  std::vector<std::string> why;
  const auto m = lower(p, v100(), why);
  if (!m) {  // a random program may stage more than a block has, or say a vector that is not aligned
    RC_CLASSIFY(true, why.front().substr(0, 20));
    return;
  }
  RC_LOG() << print(*m);
  RC_ASSERT(differences(p, *m) == "");
}

}  // namespace
}  // namespace tilescope::lower
