// SPDX-License-Identifier: Apache-2.0
#include "expr/parse_args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::expr {
namespace {

using testing::ElementsAre;

std::vector<std::string> size_errors(std::string_view text) {
  base::Diagnostics diags;
  const auto sizes = parse_sizes(text, {diags.add_source("--size"), 1, 1}, diags);
  EXPECT_EQ(sizes.has_value(), diags.ok());
  return diags.formatted_errors();
}

std::vector<std::string> shape_errors(std::string_view text) {
  base::Diagnostics diags;
  const auto shapes = parse_shapes(text, {diags.add_source("--shape"), 1, 1}, diags);
  EXPECT_EQ(shapes.has_value(), diags.ok());
  return diags.formatted_errors();
}

TEST(ParseArgs, Sizes) {
  base::Diagnostics diags;
  const auto sizes = parse_sizes("m=4096, max=8,k=-1", {diags.add_source("--size"), 1, 1}, diags);
  ASSERT_TRUE(sizes && sizes->size() == 3);
  EXPECT_EQ((*sizes)[0].axis, "m");
  EXPECT_EQ((*sizes)[0].size, 4096);
  EXPECT_EQ((*sizes)[1].axis, "max");
  EXPECT_EQ((*sizes)[1].at.column, 9U);
  EXPECT_EQ((*sizes)[2].size, -1) << "infer says what is wrong with it";
}

TEST(ParseArgs, Shapes) {
  base::Diagnostics diags;
  const auto shapes = parse_shapes("I=1,2;W=3,4;", {diags.add_source("--shape"), 1, 1}, diags);
  EXPECT_FALSE(shapes) << "a shape is missing after the last ';'";
  const auto good = parse_shapes("I=1,2;W=3,4", {diags.add_source("--shape"), 1, 1}, diags);
  ASSERT_TRUE(good && good->size() == 2);
  EXPECT_THAT((*good)[0].shape, ElementsAre(1, 2));
  EXPECT_EQ((*good)[1].tensor, "W");
  EXPECT_THAT((*good)[1].shape, ElementsAre(3, 4));
  EXPECT_EQ((*good)[1].at.column, 7U);
}

TEST(ParseArgs, EveryMistakeOfSizes) {
  EXPECT_THAT(
      size_errors("m=1.5,4,n,k=5x,m=2,m=3,z=99999999999999999999"),
      ElementsAre("--size:1:3: expected a whole number as the size of 'm', got '1.5'",
                  "--size:1:7: expected a size such as m=4096, got '4'", "--size:1:10: expected '=' after 'n', got ','",
                  "--size:1:14: expected ',' after the size of 'k', got 'x'",
                  "--size:1:20: the size of 'm' is given twice",
                  "--size:1:26: the number 99999999999999999999 does not fit 64 bits"));
  EXPECT_THAT(size_errors(""), ElementsAre("--size:1:1: expected a size such as m=4096, got the end"));
}

TEST(ParseArgs, EveryMistakeOfShapes) {
  EXPECT_THAT(shape_errors("I=1,W=2;J=1,;K=a;L=1;L=2;M=1x2"),
              ElementsAre("--shape:1:5: expected a whole number as an extent of 'I', got 'W'",
                          "--shape:1:13: expected a whole number as an extent of 'J', got ';'",
                          "--shape:1:16: expected a whole number as an extent of 'K', got 'a'",
                          "--shape:1:22: the shape of 'L' is given twice",
                          "--shape:1:29: expected ',' and another extent of 'M', or ';' and another shape, got 'x2'"));
}

}  // namespace
}  // namespace tilescope::expr
