// SPDX-License-Identifier: Apache-2.0
// The loop of a group whose reductions are carried on: what edges make of it, and why some stages have none.

#include "tile/group_loop.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/lowered.h"
#include "tests/support/small_carried_group.h"
#include "tile/group.h"

namespace tilescope::tile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::v100;

RProgram small() { return tests::program(tests::small_carried_group(), v100()); }

// Of the small group where the first text, where it stands first, is replaced by the second one.
std::vector<std::string> refusals(const std::string& from, const std::string& to) {
  std::string text = tests::small_carried_group();
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the document has no " + from);
  return tests::refusals(text.replace(at, from.size(), to), v100());
}

const std::string kStoM = R"("from":0,"to":1,"tensor":"S","level":"smem","carried":"n")";
const std::string kEtoU = R"("from":2,"to":4,"tensor":"E","level":"smem","carried":"n")";

TEST(GroupLoop, GoesAroundStagesThatEdgesCarry) {
  const RProgram p = small();
  base::Diagnostics diags;
  const auto layout = layout_of(p, groups_of(p, v100()).front(), v100(), diags);
  tests::require_no_errors(diags);
  ASSERT_TRUE(layout->loop);
  const GroupLoop& loop = *layout->loop;
  EXPECT_EQ(loop.first, 0U);
  EXPECT_EQ(loop.last, 4U) << "the quotient stands behind it";
  EXPECT_EQ(loop.steps, 4) << "50 keys, 16 at a time";
  EXPECT_THAT(loop.axes, ElementsAre(1, 1, 1, 1, 2));
  for (const std::size_t s : {0, 2}) EXPECT_TRUE(loop.stepped(s)) << s;
  for (const std::size_t s : {3, 4}) EXPECT_TRUE(loop.leaves_behind(s)) << s;
  EXPECT_TRUE(loop.runs(1));
  EXPECT_EQ(loop.coefficient(1), -1);
  for (const std::size_t s : {3, 4}) EXPECT_EQ(loop.rescaling(s)->extremum, 1U) << s;
  for (const std::size_t s : {0, 1, 2, 5}) EXPECT_EQ(loop.rescaling(s), nullptr) << s;
  EXPECT_EQ(layout->stages[0].begins[1], (TileBegin{{}, 0, 16}));
  EXPECT_EQ(layout->stages[1].begins[0], (TileBegin{{{0, 1}}, 0, 0}));
}

TEST(GroupLoop, IsWrittenAndReadAgain) {
  const RProgram p = small();
  EXPECT_THAT(base::to_json(to_document(p, v100())), HasSubstr(R"("level":"smem","carried":"n"})"));
  EXPECT_EQ(tests::program(base::to_json(to_document(p, v100())), v100()).edges, p.edges);
}

TEST(GroupLoopErrors, OfSteps) {
  EXPECT_THAT(refusals(R"("m":8,"v":16,"n":16)", R"("m":8,"v":16,"n":32)"),
              Contains("the stage of M takes steps of 16 along n, that of U of 32 along n"));
  EXPECT_THAT(refusals(R"("cached":{"V":"smem"})", R"("cached":{"V":"smem"},"num_stages":2)"),
              ElementsAre("the stage of U is carried along n, and its num_stages is not 1"));
}

TEST(GroupLoopErrors, OfAxes) {
  const auto along = [](const std::string& edge, const std::string& axis) {
    return refusals(edge, edge.substr(0, edge.size() - 2) + axis + "\"");
  };
  EXPECT_THAT(along(kStoM, "q"), Contains("S is carried along q, which is no axis of the stage of M"));
  EXPECT_THAT(along(kEtoU, "v"), Contains("E is carried along v, and the stage of U does not read it along v alone"));
  EXPECT_THAT(along(kEtoU, "m"), Contains("the stage of E is carried along n and along m"));
}

TEST(GroupLoopErrors, OfWhatIsReadWhole) {
  EXPECT_THAT(refusals(R"("from":0,"to":2,"tensor":"S","level":"smem","carried":"n")",
                       R"("from":0,"to":2,"tensor":"S","level":"smem")"),
              Contains("a step's part of S is there at a time, and the stage of E reads it whole"));
  EXPECT_THAT(refusals(kStoM, R"("from":0,"to":1,"tensor":"S","level":"smem")"),
              Contains("the stage of M stands between stages that are carried on, and is not one of them"));
  EXPECT_THAT(refusals(R"("from":3,"to":5,"tensor":"L","level":"smem")",
                       R"("from":3,"to":5,"tensor":"L","level":"smem","carried":"m")"),
              Contains("the stage of L is carried along n and along m"));
}

TEST(GroupLoopErrors, OfWhatHangsOnTheMaximum) {
  EXPECT_THAT(refusals("exp(S[m,n] - M[m])", "sigmoid(S[m,n] - M[m])"),
              ElementsAre("stages that are carried on: 'E' hangs on 'M', which runs, by more than a factor exp(c*M)"));
}

TEST(GroupLoopErrors, OfEdgesBetweenKernels) {
  EXPECT_THAT(refusals(kStoM, R"("from":0,"to":1,"tensor":"S","level":"dram","carried":"n")"),
              Contains("an edge: S passes between kernels in dram, and is carried inside one alone"));
}

}  // namespace
}  // namespace tilescope::tile
