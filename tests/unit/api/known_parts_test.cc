// SPDX-License-Identifier: Apache-2.0
// Stages that were constructed before, under other names, get the programs that they get anew.

#include "api/known_parts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/construct.h"
#include "expr/stages.h"
#include "tests/support/build.h"
#include "tests/support/random_program.h"
#include "tile/program_json.h"

namespace tilescope::api {
namespace {

std::string programs_of(const expr::Expression& e, const arch::ArchSpec& chip, KnownParts* known) {
  std::string out;
  for (const RankedProgram& p : construct(e, chip, {{}, 3, {}, known}).programs)
    out += base::to_json(tile::to_document(p.program, chip)) + "\n";
  return out;
}

void check_stages(const char* name) {
  const arch::ArchSpec chip = tests::chip(name);
  const expr::Expression e = tests::any_chain(40);
  KnownParts known;
  programs_of(expr::numbered(e), chip, &known);
  RC_ASSERT(known.stages.find(expr::single_stage(e, 0)).has_value() == !programs_of(e, chip, nullptr).empty());
  RC_ASSERT(programs_of(e, chip, &known) == programs_of(e, chip, nullptr));
}

RC_GTEST_PROP(KnownStages, GiveWhatIsFoundWithoutThemOnCoresOfThreads, ()) { check_stages("v100"); }
RC_GTEST_PROP(KnownStages, GiveWhatIsFoundWithoutThemOnCoresThatExchange, ()) { check_stages("ipu_gc200"); }

}  // namespace
}  // namespace tilescope::api
