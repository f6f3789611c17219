// SPDX-License-Identifier: Apache-2.0
// Which loops may be collapsed, and that names of collapsed loops are read back.

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/random_program.h"
#include "tile/space.h"

namespace tilescope::tile {
namespace {

using testing::ElementsAre;

std::vector<std::string> names_of(const expr::Expression& e, const AxisCollapse& collapse) {
  const auto space = make_space(e, collapse);
  std::vector<std::string> out;
  for (const TileAxis& a : space->axes) out.push_back(a.name);
  return out;
}

std::vector<std::string> contiguous(std::string_view op, std::string_view sizes, std::string_view shape = {}) {
  const expr::Expression e = tests::expression(op, sizes, shape);
  return names_of(e, contiguous_collapse(e));
}

TEST(ContiguousCollapse, JoinsLoopsThatAreNeighboursInEveryTensor) {
  EXPECT_THAT(contiguous("O[a,b,c] = relu(I[a,b,c])", "a=17,b=11,c=3"), ElementsAre("a.b.c"));
  EXPECT_THAT(contiguous("O[i] +=! I[i,j,k]", "i=3,j=4,k=5"), ElementsAre("i", "j.k"));
  EXPECT_THAT(contiguous("O[a,b,c] = I[a,b,c] + M[a,b]", "a=2,b=3,c=4"), ElementsAre("a.b", "c"));
  EXPECT_THAT(contiguous("O[n,c,y,x] +=! I[n,c,y+r,x+s] * W[c,r,s]", "n=2,c=3,y=4,x=4,r=3,s=3"),
              ElementsAre("n", "c", "y", "x", "r", "s"));
  EXPECT_THAT(contiguous("O[n] +=! I[n,r,s] * W[r,s]", "n=2,r=3,s=3"), ElementsAre("n", "r.s"));
}

TEST(ContiguousCollapse, KeepsLoopsApartThatMemoryKeepsApart) {
  EXPECT_THAT(contiguous("O[j,i] = I[i,j]", "i=3,j=4"), ElementsAre("j", "i"));
  EXPECT_THAT(contiguous("O[a,b] = I[a,b]", "a=3,b=4", "I=3,5"), ElementsAre("a", "b")) << "rows are longer than b";
  EXPECT_THAT(contiguous("O[a,b] = I[a,b] + J[a]", "a=3,b=4"), ElementsAre("a", "b"));
  EXPECT_THAT(contiguous("O[a,b] = I[a,b+1]", "a=3,b=4"), ElementsAre("a", "b"));
  EXPECT_THAT(contiguous("O[a,b] = I[a,b] + J[a,b,a]", "a=3,b=4"), ElementsAre("a", "b"));
  EXPECT_THAT(contiguous("O[a,b] = I[a/2,b]", "a=3,b=4"), ElementsAre("a", "b"));
}

std::vector<std::string> contraction(std::string_view op, std::string_view sizes) {
  const expr::Expression e = tests::expression(op, sizes);
  const auto collapse = contraction_collapse(e);
  return collapse ? names_of(e, *collapse) : std::vector<std::string>{};
}

TEST(ContractionCollapse, MakesAConvolutionAMatrixProduct) {
  EXPECT_THAT(contraction("O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=2,f=3,y=4,x=4,c=5,r=3,s=3"),
              ElementsAre("f", "n.y.x", "c.r.s"));
  EXPECT_THAT(contraction("O[n,y,x,f] +=! I[n,y+r,x+s,c] * W[r,s,c,f]", "n=2,f=3,y=4,x=4,c=5,r=3,s=3"),
              ElementsAre("n.y.x", "f", "r.s.c"))
      << "the group with the output's innermost loop stands last";
}

TEST(ContractionCollapse, LeavesAloneWhatIsNoMatrixProduct) {
  EXPECT_THAT(contraction("C[m,n] +=! A[m,k] * B[k,n]", "m=2,n=3,k=4"), ElementsAre()) << "it is one already";
  EXPECT_THAT(contraction("O[n,c,y,x] +=! I[n,c,y+r,x+s] * W[c,r,s]", "n=2,c=3,y=4,x=4,r=3,s=3"), ElementsAre());
  EXPECT_THAT(contraction("O[n,y] max=! I[n,c,y] * W[c]", "n=2,c=3,y=4"), ElementsAre());
  EXPECT_THAT(contraction("O[n,y] +=! I[n,c,y] + W[c]", "n=2,c=3,y=4"), ElementsAre()) << "a sum is no product";
  EXPECT_THAT(contraction("O[n,y] +=! I[n,c,y/2] * W[c]", "n=2,c=3,y=4"), ElementsAre());
}

std::optional<AxisCollapse> collapse(std::vector<std::string_view> names) {
  const expr::Expression e = tests::expression("O[m,n,q] +=! A[m,n,k] * B[k,l,q]", "m=2,n=3,q=2,k=4,l=5");
  return collapse_of_names(e.stages.front(), names);
}

TEST(CollapseOfNames, TakesEveryLoopExactlyOnce) {
  EXPECT_EQ(collapse({"m.n", "q", "k.l"}), (AxisCollapse{{0, 1}, {2}, {3, 4}}));
  EXPECT_EQ(collapse({"k", "n.m", "l", "q"}), (AxisCollapse{{1, 0}, {2}, {3}, {4}})) << "spatial groups come first";
  EXPECT_EQ(collapse({"m.n", "q", "k"}), std::nullopt) << "l is missing";
  EXPECT_EQ(collapse({"m.n", "q", "k.l", "m"}), std::nullopt) << "m twice";
  EXPECT_EQ(collapse({"m.n.k", "q", "l"}), std::nullopt) << "spatial with reduced";
  EXPECT_EQ(collapse({"m.n", "q", "k.z"}), std::nullopt) << "no loop z";
  EXPECT_EQ(collapse({"m..n", "q", "k.l"}), std::nullopt);
  EXPECT_EQ(collapse({".m", "n", "q", "k.l"}), std::nullopt);
  EXPECT_EQ(collapse({"", "m.n", "q", "k.l"}), std::nullopt);
  EXPECT_EQ(collapse({}), std::nullopt);
}

RC_GTEST_PROP(CollapseOfNames, ReadsBackWhatASpaceIsNamed, ()) {
  const expr::Expression e = tests::any_operator(4);
  const AxisCollapse chosen = tests::any_collapse(e);
  const std::vector<std::string> names = names_of(e, chosen);
  RC_ASSERT(collapse_of_names(e.stages.front(), {names.begin(), names.end()}) == chosen);
}

RC_GTEST_PROP(MakeSpace, CountsEveryPointOnce, ()) {
  const expr::Expression e = tests::any_operator(6);
  const auto space = make_space(e, tests::any_collapse(e));
  std::int64_t points = 1, loops = 1, reduced = 1;
  for (const TileAxis& a : space->axes) points *= a.extent;
  for (const expr::Axis& a : e.stages.front().axes) loops *= a.size;
  for (const expr::Axis& a : e.stages.front().axes) reduced *= a.reduction ? a.size : 1;
  RC_ASSERT(points == loops);
  RC_ASSERT(space->reduced == reduced);
}

}  // namespace
}  // namespace tilescope::tile
