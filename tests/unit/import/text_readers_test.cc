// SPDX-License-Identifier: Apache-2.0
#include "import/text_readers.h"

#include <gmock/gmock.h>

namespace tilescope::importers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> told(const std::vector<Key>& keys) {
  std::vector<std::string> out;
  for (const Key& k : keys)
    out.push_back(k.name + "|" + k.text + "|" + std::to_string(k.at.line) + ":" + std::to_string(k.at.column));
  return out;
}

TEST(TextReaders, OptionsWithCommentsQuotesAndLines) {
  base::Diagnostics diags;
  const auto keys =
      read_options("# all\n-a 1 # one\n--b  \"x y:\n  z\" -c:d -3.5 -e f g\n", diags.add_source("f"), diags);
  EXPECT_TRUE(diags.ok());
  EXPECT_THAT(told(keys), ElementsAre("a|1|2:4", "b|x y:\n  z|3:7", "c:d|-3.5|4:11", "e|f g|4:19"));
}

TEST(TextReaders, OptionsThatAreNone) {
  base::Diagnostics diags;
  const auto source = diags.add_source("f");
  read_options("word -a\n", source, diags);
  read_options("-a -b 1\n-c \"open\n", source, diags);
  EXPECT_THAT(diags.formatted_errors(), ElementsAre("f:1:1: expected an option such as -gpgpu_n_clusters, got 'word'",
                                                    "f:1:1: -a: has no value", "f:2:5: a quote is not closed"));
  base::Diagnostics again;
  read_options("-a 1\n-a 2\n", again.add_source("f"), again);
  ASSERT_EQ(again.notes().size(), 1);
  EXPECT_EQ(again.format(again.notes()[0]), "f:2:4: a: given again; the last one counts");
}

TEST(TextReaders, Ini) {
  base::Diagnostics diags;
  const auto source = diags.add_source("f");
  EXPECT_THAT(told(read_ini("; x\n[one]\n a =  1 ; y\r\nb=2#z\n[two]\na=c d\n", source, diags)),
              ElementsAre("one.a|1|3:7", "one.b|2|4:3", "two.a|c d|6:3"));
  EXPECT_TRUE(diags.ok());
  read_ini("[open\nword\n= 3\nx =\n", source, diags);
  EXPECT_THAT(diags.formatted_errors(),
              ElementsAre("f:1:1: the bracket of a section is not closed", "f:2:1: expected name = value, got 'word'",
                          "f:3:1: expected name = value, got '= 3'", "f:4:1: x: has no value"));
}

TEST(TextReaders, Csv) {
  base::Diagnostics diags;
  const auto rows = read_csv("a, b ,\n\n # none\n\t1,,3\n", diags.add_source("f"));
  ASSERT_EQ(rows.size(), 2);
  ASSERT_EQ(rows[0].size(), 2);
  EXPECT_EQ(rows[0][1].text, "b");
  EXPECT_EQ(rows[0][1].at.column, 4);
  ASSERT_EQ(rows[1].size(), 3);
  EXPECT_EQ(rows[1][1].text, "");
  EXPECT_EQ(rows[1][2].at.line, 4);
  EXPECT_EQ(rows[1][0].at.column, 2);
}

TEST(TextReaders, PartsOfAValue) {
  constexpr PartsRow kRows[] = {{"c", "s:n:w,p:q,port"}, {"c", "n:w,p:q,port"}, {"t", "=:"}};
  base::Diagnostics diags;
  const auto source = diags.add_source("f");
  std::vector<Key> keys = {
      {"c", "S:4:8,L:T,32", {source, 1, 10}}, {"t", "A=1: B=2:\n C=3", {source, 2, 1}}, {"u", "x", {}}};
  split_parts(keys, kRows, diags);
  EXPECT_THAT(told(keys), ElementsAre("c.s|S|1:10", "c.n|4|1:12", "c.w|8|1:14", "c.p|L|1:16", "c.q|T|1:18",
                                      "c.port|32|1:20", "t.A|1|2:3", "t.B|2|2:8", "t.C|3|3:4", "u|x|0:0"));
  // Without the first part; with groups that end early; with too much.
  keys = {{"c", "4:8,L,32", {source, 1, 1}}, {"c", "none", {}}, {"c", "1:2:3:4,5", {source, 7, 1}}};
  split_parts(keys, kRows, diags);
  EXPECT_THAT(told(keys), ElementsAre("c.n|4|1:1", "c.w|8|1:3", "c.p|L|1:5", "c.port|32|1:7", "c|none|0:0"));
  EXPECT_THAT(diags.formatted_errors(),
              ElementsAre("f:7:1: c: expected s:n:w,p:q,port or n:w,p:q,port, got '1:2:3:4,5'"));
}

}  // namespace
}  // namespace tilescope::importers
