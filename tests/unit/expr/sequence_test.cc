// SPDX-License-Identifier: Apache-2.0
// Which tensors of operators that run one after another are one array.

#include "expr/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/build.h"

namespace tilescope::expr {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class SequenceNames : public testing::Test {
 protected:
  void add(const std::string& id, const char* op, const char* sizes, const std::vector<GivenInput>& inputs = {}) {
    tensors_.add(id, tests::expression(op, sizes), inputs, diags_);
  }
  GivenInput given(const std::string& tensor, const std::string& from) {
    return {tensor, from, {diags_.add_source("suite"), 7, 3}};
  }

  TensorsOfSequence tensors_;
  base::Diagnostics diags_;
};

constexpr const char* kProduct = "C[m,n] +=! A[m,k] * B[k,n]";

TEST_F(SequenceNames, TheResultBeforeIsTheFirstInputThatFits) {
  add("up", kProduct, "m=8,n=16,k=4");
  add("down", kProduct, "m=8,n=4,k=16");
  EXPECT_THAT(tensors_.shared(0), IsEmpty());
  EXPECT_THAT(tensors_.shared(1), ElementsAre(Pair("A", "up.C"))) << "B has 64 elements";
  EXPECT_EQ(tensors_.array_of(1, "A"), "up.C");
  EXPECT_EQ(tensors_.array_of(1, "B"), "down.B");
  EXPECT_EQ(tensors_.bytes(), 4 * (8 * 4 + 4 * 16 + 8 * 16 + 16 * 4 + 8 * 4));
}

TEST_F(SequenceNames, OneOfTwoSquareInputsIsTheResultBefore) {
  add("one", kProduct, "m=8,n=8,k=8");
  add("two", kProduct, "m=8,n=8,k=8");
  EXPECT_THAT(tensors_.shared(1), ElementsAre(Pair("A", "one.C")));
}

TEST_F(SequenceNames, ANameFindsTheLatestResultOfThatSize) {
  add("a", "H[i] = X[i] + 1", "i=64");
  add("b", "H[i] = X[i] + 2", "i=64");
  add("c", "G[i] = X[i] + 3", "i=64");
  add("d", "O[i] = H[i] * G[i]", "i=64");
  EXPECT_THAT(tensors_.shared(3), ElementsAre(Pair("G", "c.G"), Pair("H", "b.H")));
  add("e", "P[i] = H[i] * 2", "i=32");
  EXPECT_THAT(tensors_.shared(4), IsEmpty()) << "that H has 64 elements";
}

TEST_F(SequenceNames, GivenInputsGoFirstAndMayBeInputsThemselves) {
  add("norm", "Y[i] = X[i] * 2", "i=64");
  add("up", "H[i] = Y[i] + 1", "i=64");
  add("add", "O[i] = H[i] + R[i]", "i=64", {given("R", "norm.X")});
  add("all", "S[i] = O[i] + H[i] + Y[i]", "i=64", {given("H", "norm"), given("Y", "add.R")});
  ASSERT_TRUE(diags_.ok()) << diags_.formatted_errors().front();
  EXPECT_THAT(tensors_.shared(2), ElementsAre(Pair("H", "up.H"), Pair("R", "norm.X")));
  EXPECT_THAT(tensors_.shared(3), ElementsAre(Pair("H", "norm.Y"), Pair("O", "add.O"), Pair("Y", "norm.X")));
}

TEST_F(SequenceNames, IdsAreThoseOfTheirOwnList) {
  for (const char* k : {"k=4", "k=8"}) {
    const std::string sizes = std::string("m=8,n=16,") + k;
    tensors_.begin_list();
    add("up", kProduct, sizes.c_str());
    add("act", "O[i] = X[i] + 1", "i=128", {given("X", "up")});
  }
  ASSERT_TRUE(diags_.ok()) << diags_.formatted_errors().front();
  EXPECT_THAT(tensors_.shared(1), ElementsAre(Pair("X", "up.C")));
  EXPECT_THAT(tensors_.shared(3), ElementsAre(Pair("X", "2:up.C")));
  tensors_.begin_list();
  add("act", "O[i] = X[i] + 1", "i=128", {given("X", "up")});
  EXPECT_FALSE(diags_.ok()) << "this list has no 'up'";
}

TEST_F(SequenceNames, OfWhatDoesNotRunOnlyWhatOthersUseIsHeld) {
  tensors_.add("up", tests::expression("U[i] = X[i] * 2", "i=64"), {}, diags_, false);
  EXPECT_EQ(tensors_.bytes(), 0);
  add("one", "V[i] = U[i] * 2", "i=64");
  add("two", "W[i] = Y[i] * 2", "i=64", {given("Y", "up")});
  EXPECT_THAT(tensors_.shared(1), ElementsAre(Pair("U", "up.U")));
  EXPECT_THAT(tensors_.shared(2), ElementsAre(Pair("Y", "up.U")));
  EXPECT_EQ(tensors_.bytes(), 4 * 64 * 3) << "U, V, W";
}

TEST_F(SequenceNames, MistakesAreNamedWithTheirPlace) {
  add("norm", "Y[i] = X[i] * 2", "i=64");
  add("up", "H[i] = Y[i] + Z[i]", "i=64", {given("Y", "nrom"), given("Q", "norm"), given("Z", "norm.W")});
  add("low", "L[i] = Y[i] + 1", "i=32", {given("Y", "norm")});
  EXPECT_THAT(diags_.formatted_errors(),
              ElementsAre("suite:7:3: Y: no earlier operator has the id 'nrom'; did you mean 'norm'?",
                          "suite:7:3: inputs: up has no input 'Q'", "suite:7:3: Z: norm has no tensor W; it has X, Y",
                          "suite:7:3: Y: it has 32 elements of f32, and Y of norm has 64 elements of f32"));
}

}  // namespace
}  // namespace tilescope::expr
