// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostics.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace tilescope::base {
namespace {

using Texts = std::vector<std::string>;

TEST(Diagnostics, FormatsThePlaceOrTheInputAsAWhole) {
  Diagnostics diags;
  const SourceId file = diags.add_source("v100.yaml");
  EXPECT_EQ(diags.format({{file, 12, 3}, "wrong"}), "v100.yaml:12:3: wrong");
  EXPECT_EQ(diags.format({{file, 0, 0}, "missing"}), "v100.yaml: missing");
}

TEST(Diagnostics, SortsErrorsByInputThenPlace) {
  Diagnostics diags;
  const SourceId first = diags.add_source("a");
  const SourceId second = diags.add_source("b");
  diags.error({second, 1, 1}, "in b");
  diags.error({first, 10, 1}, "line 10");
  diags.error({first, 9, 20}, "column 20");
  diags.error({first, 9, 3}, "said first");
  diags.error({first, 9, 3}, "and second");
  EXPECT_EQ(diags.formatted_errors(),
            (Texts{"a:9:3: said first", "a:9:3: and second", "a:9:20: column 20", "a:10:1: line 10", "b:1:1: in b"}));
}

TEST(Diagnostics, KeepsOneOfEqualErrors) {
  Diagnostics diags;
  const SourceId file = diags.add_source("a");
  for (int i = 0; i < 2; ++i) diags.error({file, 1, 2}, "wrong");
  diags.error({file, 1, 3}, "wrong");
  EXPECT_EQ(diags.formatted_errors(), (Texts{"a:1:2: wrong", "a:1:3: wrong"}));
}

TEST(Diagnostics, NotesAreNoErrors) {
  Diagnostics diags;
  const SourceId file = diags.add_source("a");
  diags.note({file, 1, 2}, "a stated peak is dropped");
  EXPECT_TRUE(diags.ok());
  ASSERT_EQ(diags.notes().size(), 1U);
  EXPECT_EQ(diags.format(diags.notes()[0]), "a:1:2: a stated peak is dropped");
  diags.error({file, 1, 2}, "wrong");
  EXPECT_FALSE(diags.ok());
}

TEST(Diagnostics, AnUnknownSourceIsABug) {
  const Diagnostics diags;
  EXPECT_THROW(diags.source_name(SourceId{0}), InternalError);
}

TEST(DidYouMean, NamesTheClosestCandidate) {
  EXPECT_EQ(did_you_mean("clok", {"core", "clock", "class"}), "; did you mean 'clock'?");
  EXPECT_EQ(did_you_mean("latnecy", {"line", "latency"}), "; did you mean 'latency'?");
}

TEST(DidYouMean, CountsASwapOfNeighboursAsOneMistake) {
  EXPECT_EQ(did_you_mean("reg", {"erg"}), "; did you mean 'erg'?");
  EXPECT_EQ(did_you_mean("reg", {"ger"}), "");
}

TEST(DidYouMean, StaysSilentWhereNothingIsClose) {
  EXPECT_EQ(did_you_mean("banks", {"capacity", "line"}), "");
  EXPECT_EQ(did_you_mean("V100", {"a100", "v100", "k80"}), "; did you mean 'v100'?") << "whatever the case";
  EXPECT_EQ(did_you_mean("MI100", {"mi100", "mi210"}), "; did you mean 'mi100'?");
  EXPECT_EQ(did_you_mean("banks", {}), "");
  EXPECT_EQ(did_you_mean("", {"a"}), "");
  EXPECT_EQ(did_you_mean(std::string(65, 'a'), {std::string(64, 'a')}), "") << "no distances over garbage";
  EXPECT_NE(did_you_mean(std::string(64, 'a'), {std::string(63, 'a')}), "");
}

TEST(DidYouMean, AllowsOneMistakeInThreeLetters) {
  EXPECT_EQ(did_you_mean("a", {"b"}), "") << "nothing of the word is left";
  EXPECT_EQ(did_you_mean("abcde", {"abxxe"}), "");
  EXPECT_EQ(did_you_mean("abcdef", {"abxxef"}), "; did you mean 'abxxef'?");
}

// A check that compares the count sees its own mistake, whatever was said before.
TEST(Diagnostics, CountsWhatIsSaidAgain) {
  Diagnostics diags;
  diags.error({}, "too large");
  const std::size_t before = diags.count();
  diags.error({}, "too large");
  EXPECT_GT(diags.count(), before);
  EXPECT_EQ(diags.sentences(), std::vector<std::string>{"too large"});
}

}  // namespace
}  // namespace tilescope::base
