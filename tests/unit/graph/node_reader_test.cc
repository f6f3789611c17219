// SPDX-License-Identifier: Apache-2.0
// What one node says, and which of its attributes were read.

#include "graph/detail/node_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::graph {
namespace {

using testing::ElementsAre;
using List = std::vector<std::int64_t>;

struct OneNode : testing::Test {
  ModelNode node;
  std::vector<double> axes = {-1, 0};
  std::vector<std::optional<Operand>> inputs = {Operand{.element = Element::kOther, .shape = {2, 3}}, std::nullopt,
                                                Operand{.shape = {2}, .values = &axes}};
  NodeReader reader{node, inputs, 13};

  void SetUp() override {
    node.kind = "Pad";
    node.inputs = {"X", "", "axes"};
    node.outputs = {"Y", ""};
    node.attributes = {{"pads", List{1, 2}}, {"mode", std::string("edge")}, {"axis", std::int64_t{1} << 60}};
  }
};

TEST_F(OneNode, SaysWhatItHas) {
  EXPECT_TRUE(reader.has(0) && !reader.has(1) && reader.has(2) && !reader.has(3));
  EXPECT_TRUE(reader.wants(0) && !reader.wants(1));
  EXPECT_EQ(reader.rank(0), 2);
  EXPECT_THROW(reader.input(1), Contradiction);
  EXPECT_THROW(reader.values(0), Refusal);
  EXPECT_THAT(reader.integers(2), ElementsAre(-1, 0));
  EXPECT_EQ(reader.axes_of(2, "axes", 2), std::optional(List{1, 0})) << "counted from the end";
  EXPECT_EQ(reader.axes_of(1, "axes", 2), std::nullopt);
  EXPECT_THROW(NodeReader::axis_of(2, 2), Contradiction);
  EXPECT_THROW(reader.check_places(2, 0), Contradiction) << "-1 of no elements";
  EXPECT_NO_THROW(reader.check_places(2, 1));
}

TEST_F(OneNode, KnowsWhichAttributesWereRead) {
  EXPECT_THAT(reader.unread(), ElementsAre("axis", "mode", "pads"));
  EXPECT_EQ(reader.number("axis", 0), kGreatestInteger) << "held within it";
  EXPECT_EQ(reader.number("other", 7), 7);
  EXPECT_THROW(reader.number("mode", 0), Contradiction) << "a text";
  EXPECT_THAT(reader.list_of("pads", 2, 0, 0, 2), ElementsAre(1, 2));
  EXPECT_THAT(reader.list_of("absent", 2, 3, 0, 9), ElementsAre(3, 3));
  EXPECT_THROW(reader.list_of("pads", 3, 0, 0, 2), Contradiction);
  EXPECT_THROW(reader.list_of("pads", 2, 0, 0, 1), Contradiction);
  EXPECT_THAT(reader.unread(), ElementsAre());
}

}  // namespace
}  // namespace tilescope::graph
