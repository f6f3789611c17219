// SPDX-License-Identifier: Apache-2.0
// Stages whose coordinates are read from a table: what they become, what the interpreter finds, and random programs of
// them against plain loops.

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/kernel_document.h"
#include "lower/print.h"
#include "sim/simulate.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_program.h"

namespace tilescope::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Rows of eight elements by a table of six entries; `more` are further keys of the node.
std::string rows(const std::string& more = "") {
  return R"({"arch":"v100","nodes":[{"expr":"O[i,j] = E[T[i],j]","sizes":{"i":6,"j":8},"shapes":{"E":[5,8]},"dtype":"f32",
    "tiles":{"smem":{"i":4,"j":8}},"mapping":{"i":{"threads":4},"j":{"threads":2,"per_thread":4}})" +
         more + R"(}],"edges":[]})";
}

TEST(Gather, LoadsTheIndexBeforeTheRow) {
  const tile::RProgram p = tests::program(rows(), tests::v100());
  const Module m = tests::lowered(p, tests::v100());
  const std::string text = print(m);
  EXPECT_THAT(text, HasSubstr("T_part[0] <- T["));
  EXPECT_THAT(text, HasSubstr(" + T_part[0]*8] x4"));
  EXPECT_LT(text.find("T_part[0] <-"), text.find("E_part[0] <-"));
  EXPECT_EQ(tests::interpreter_result(p, m), "");
  // One request for indices and one for rows in each of two blocks.
  const auto counted = sim::count(m, tests::v100());
  std::int64_t requests = 0;
  for (const CopyCount& c : counted[0]) requests += c.global.requests;
  EXPECT_EQ(requests, 2 * 3);
}

TEST(Gather, IsWrittenAndReadBack) {
  const tile::RProgram p = tests::program(rows(R"(,"dtypes":{"T":"i32:sorted"})"), tests::v100());
  const Module m = tests::lowered(p, tests::v100());
  base::Diagnostics diags;
  const std::string text = base::to_json(tile::to_document(p, tests::v100()));
  EXPECT_THAT(text, HasSubstr(R"("T":"i32:sorted")"));
  const auto again = tile::read_program(*base::read_json(text, diags.add_source("p"), diags), tests::v100(), diags);
  ASSERT_TRUE(again) << diags.formatted_errors().front();
  EXPECT_EQ(again->simt(), p.simt());
  const auto table = std::find_if(m.globals.begin(), m.globals.end(), [](const Global& g) { return g.name == "T"; });
  ASSERT_NE(table, m.globals.end());
  EXPECT_EQ(table->indices.kind, expr::IndexDistribution::Kind::kSorted);
}

TEST(Gather, NamesAnIndexThatIsNone) {
  const tile::RProgram p = tests::program(rows(), tests::v100());
  const Module m = tests::lowered(p, tests::v100());
  std::mt19937 random(1);
  NamedValues values;
  add_expected_values(p, random, values);
  values.at("T")[3] = 5;
  std::vector<expr::Values> globals = globals_of(m, values);
  try {
    interpret(m, {}, globals);
    ADD_FAILURE();
  } catch (const KernelError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the index T[3] is 5, expected 0 to 4"));
  }
}

TEST(Gather, RefusesWhatItCannotRead) {
  const tile::RProgram p = tests::program(rows(R"(,"cached":{"T":"smem"})"), tests::v100());
  base::Diagnostics diags;
  EXPECT_FALSE(lower(p, tests::v100(), diags));
  EXPECT_THAT(diags.sentences(), ElementsAre(HasSubstr("T gives coordinates alone, which are read from memory, and is "
                                                       "cached")));
}

// A copy with another index than the table's, or one of no register.
TEST(Gather, FindsPlantedFaults) {
  const tile::RProgram p = tests::program(rows(), tests::v100());
  Module m = tests::lowered(p, tests::v100());
  Copy& copy = tests::copy_to(m.kernels[0], "E_part");
  ASSERT_TRUE(copy.gather);
  copy.gather->table.offset = {};
  EXPECT_THAT(tests::interpreter_result(p, m), HasSubstr("is another"));
}

RC_GTEST_PROP(RandomGathers, ComputeWhatPlainLoopsDo, ()) {
  const expr::Expression e = tests::any_gather(9);
  tile::RProgram p{"v100", {}, {}};
  for (std::size_t s = 0; s < e.stages.size(); ++s)
    p.add(tests::any_stores(tests::any_program(expr::single_stage(e, s), 256), tests::v100()));
  base::Diagnostics diags;
  const auto m = lower(p, tests::v100(), diags);
  RC_PRE(m.has_value());
  RC_LOG() << expr::text_of(e) << '\n' << print(*m);
  RC_ASSERT(tests::interpreter_result(p, *m).empty());
}

}  // namespace
}  // namespace tilescope::lower
