// SPDX-License-Identifier: Apache-2.0
// Grids of a network's variables.

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/network/table.h"

namespace tilescope::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TableAxes, ValuesAndRanges) {
  base::Diagnostics diags;
  const auto axes = read_table_axes("new=1..20*3,past=0|5|16..64+16,batch=7..7*2", diags);
  ASSERT_TRUE(axes);
  ASSERT_EQ(axes->size(), 3U);
  EXPECT_EQ((*axes)[0].name, "new");
  EXPECT_THAT((*axes)[0].values, ElementsAre(1, 3, 9));
  EXPECT_THAT((*axes)[1].values, ElementsAre(0, 5, 16, 32, 48, 64));
  EXPECT_THAT((*axes)[2].values, ElementsAre(7));
}

TEST(TableAxes, Mistakes) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "1:1: expected a variable with its values"},
      {"new", "1:1: expected a variable with its values"},
      {"=3", "1:1: expected a variable with its values"},
      {"new=1,", "1:7: expected a variable with its values"},
      {"new=", "1:5: new: expected a whole number from 0"},
      {"new=1|", "1:7: new: expected a whole number from 0"},
      {"new=-1", "1:5: new: expected a whole number from 0"},
      {"new=1..8", "1:5: new: a range ends in +"},
      {"new=1..8*1", "1:5: new: 1..8*1 never ends"},
      {"new=1..8+0", "1:5: new: 1..8+0 never ends"},
      {"new=0..8*2", "give 0 alone: 0|1..1024*2"},
      {"new=8..1*2", "1:5: new: 8 is more than 1; exchange them"},
      {"new=1|2..8*2|4", "1:1: new: 4 stands here a second time"},
      {"new=1,new=2", "1:7: 'new' has values already"},
      {"new=9223372036854775807", "1:5: new: expected a whole number"},
      {"new=1..2000000000+1", "1:5: new: more than 1000000 values"},
      {"a=1..1001+1,b=1..1000+1", "1:1: more than 1000000 points"}};
  for (const auto& [text, expected] : wrong) {
    base::Diagnostics diags;
    EXPECT_FALSE(read_table_axes(text, diags)) << text;
    ASSERT_FALSE(diags.ok()) << text;
    EXPECT_THAT(diags.formatted_errors().front(), HasSubstr(expected)) << text;
  }
  base::Diagnostics diags;
  EXPECT_TRUE(read_table_axes("a=1..1000+1,b=1..1000+1", diags));
}

}  // namespace
}  // namespace tilescope::api
