// SPDX-License-Identifier: Apache-2.0
// Documents of programs for tiles that exchange.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_bsp_stage.h"
#include "tile/program_json.h"

namespace tilescope::tile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RC_GTEST_PROP(BspDocument, ReadsBackWhatItWrote, ()) {
  const arch::ArchSpec a = tests::chip("ipu_gc2");
  const RProgram p = program_of(a.name, tests::any_bsp_stage(tests::any_operator(9), a));
  for (const arch::ComputeSpec& c : a.compute)
    RC_PRE(c.name != p.bsp().front().instruction || instruction_refusal(c, *p.bsp().front().space).empty());
  base::Diagnostics diags;
  const std::string text = base::to_json(to_document(p, a));
  RC_LOG() << text;
  const auto document = base::read_json(text, diags.add_source("document"), diags);
  const auto again = read_program(*document, a, diags);
  tests::require_no_errors(diags);
  const BspStage &one = p.bsp().front(), &other = again->bsp().front();
  RC_ASSERT(one.grid == other.grid);
  RC_ASSERT(one.block == other.block);
  RC_ASSERT(one.dataflow == other.dataflow);
  RC_ASSERT(one.core_order == other.core_order);
  RC_ASSERT(one.loop_order == other.loop_order);
  RC_ASSERT(one.folded == other.folded);
  RC_ASSERT(one.instruction == other.instruction);
}

std::vector<std::string> mistakes(const std::string& node, const std::string& chip) {
  const arch::ArchSpec a = tests::chip(chip);
  base::Diagnostics diags;
  const auto document = base::read_json(R"({"format": 3, "nodes": [)" + node + "]}", diags.add_source("p.json"), diags);
  read_program(*document, a, diags);
  return diags.formatted_errors();
}

constexpr char kProduct[] = R"("expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 64, "n": 64, "k": 64})";

TEST(BspDocument, AllMistakesAreReportedWithTheirPlaces) {
  EXPECT_THAT(
      mistakes(std::string("{") + kProduct +
                   R"(, "grid": {"m": 65, "x": 2}, "dataflow": {"A": "keep", "B": {"shift": "q"}, "C": "stationary"}})",
               "ipu_gc2"),
      ElementsAre(HasSubstr("lacks the key 'instruction'"), HasSubstr("grid.m: expected"),
                  HasSubstr("grid: 'x' is no axis of the node"), HasSubstr("dataflow.A: expected"),
                  HasSubstr("'q' is no axis"), HasSubstr("dataflow: 'C' is computed; it stays where it is made")));
}

// Its own dtypes, those of its sums one element at a time, and matrices where it is a product of two tensors.
TEST(BspDocument, RefusesAnInstructionThatDoesNotComputeTheNode) {
  const auto with = [](const std::string& node, const std::string& instruction) {
    return mistakes("{" + node + R"(, "grid": {"m": 4}, "instruction": ")" + instruction + "\"}", "ipu_gc200");
  };
  const std::string product = kProduct, of_halves = product + R"(, "dtype": "f16")";
  const std::string other = R"n("expr": "C[m] = relu(A[m])", "sizes": {"m": 64})n";
  EXPECT_THAT(with(product, "fma.f32"), ElementsAre());
  EXPECT_THAT(with(product, "amp.f32"), ElementsAre());
  EXPECT_THAT(with(product, "amp.f16"),
              ElementsAre(HasSubstr("instruction: amp.f16 multiplies f16 into f32, the node f32 into f32")));
  EXPECT_THAT(with(of_halves, "amp.f16"), ElementsAre());
  EXPECT_THAT(with(of_halves, "fma.f32"), ElementsAre()) << "values are widened";
  EXPECT_THAT(with(of_halves, "amp.f32"), ElementsAre(HasSubstr("amp.f32 multiplies f32 into f32")));
  EXPECT_THAT(with(other, "fma.f32"), ElementsAre());
  EXPECT_THAT(with(other, "amp.f32"), ElementsAre(HasSubstr("the node is no sum of products of two tensors")));
}

// What rotates is not gathered, slices of a window overlap, and cores whose blocks differ have nothing to gather.
TEST(BspDocument, RefusesGathersWithTheirReasons) {
  const auto with = [](const std::string& moves) {
    return std::string("{") + kProduct + R"(, "grid": {"m": 4, "n": 4}, "instruction": "fma.f32", "dataflow": )" +
           moves + "}";
  };
  EXPECT_THAT(mistakes(with(R"({"A": {"shift": "k", "gather": "k", "ring": 4}})"), "ipu_gc2"),
              ElementsAre(HasSubstr("dataflow.A: an input that shifts is neither fetched nor gathered")));
  EXPECT_THAT(mistakes(with(R"({"A": {"gather": "k", "ring": 3}})"), "ipu_gc2"),
              ElementsAre(HasSubstr("A: a ring of 3 cores does not divide the 4 that share it; 1, 2, 4 would")));
  EXPECT_THAT(mistakes(with(R"({"A": {"gather": "n", "ring": 4}})"), "ipu_gc2"),
              ElementsAre(HasSubstr("A: it is gathered along 'n', which it does not use")));
  EXPECT_THAT(
      mistakes(with(R"({"A": {"fetch": 1, "gather": "k", "ring": 4}, "B": {"shift": "k", "ring": 4}})"), "ipu_gc2"),
      ElementsAre(HasSubstr("A: cores that share it are at different slices of 'k'")));
  EXPECT_THAT(mistakes(R"({"expr": "O[f,y] +=! I[y+r] * W[f,r]", "sizes": {"f": 4, "y": 16, "r": 3}, "grid": {"f": 4},
                           "instruction": "fma.f32", "dataflow": {"I": {"gather": "y", "ring": 4}}})",
                       "ipu_gc2"),
              ElementsAre(HasSubstr("I: slices along 'y' overlap, so that none can be gathered")));
}

// Homes in a DRAM are of chips that have one, and those in cores are kept where a program says so.
TEST(BspDocument, SaysWhereHomesAre) {
  const auto with = [](const std::string& homes) {
    return std::string("{") + kProduct + R"(, "grid": {"m": 4}, "instruction": "fma.f32", "tensor_location": ")" +
           homes + "\"}";
  };
  EXPECT_THAT(mistakes(with("dram"), "ipu_gc2"), ElementsAre(HasSubstr("tensor_location: ipu_gc2 has no dram")));
  EXPECT_THAT(mistakes(with("disk"), "wormhole_n150"), ElementsAre(HasSubstr("tensor_location: expected")));
  EXPECT_THAT(mistakes(with("cores"), "ipu_gc2"), ElementsAre());
  const arch::ArchSpec a = tests::chip("wormhole_n150");
  for (const std::string homes : {"cores", "dram"}) {
    base::Diagnostics diags;
    const auto document =
        base::read_json(R"({"format": 3, "nodes": [)" + with(homes) + "]}", diags.add_source("p.json"), diags);
    const auto p = read_program(*document, a, diags);
    tests::require_no_errors(diags);
    EXPECT_EQ(p->bsp().front().tensors_in_cores, homes == "cores");
    EXPECT_EQ(base::to_json(to_document(*p, a)).find("\"tensor_location\"") != std::string::npos, homes == "cores");
  }
}

// Loops that are collapsed across a window would gather the image.
TEST(BspDocument, GathersNoOperand) {
  EXPECT_THAT(mistakes(R"({"expr": "O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]",
                           "sizes": {"n": 2, "f": 8, "y": 6, "x": 6, "c": 4, "r": 3, "s": 3},
                           "grid": {"f": 4}, "tile": {"f": 2, "n.y.x": 72, "c.r.s": 36}, "instruction": "fma.f32"})",
                       "ipu_gc2"),
              ElementsAre(HasSubstr("I: collapsed loops gather it")));
}

TEST(BspDocument, IsOfOneClassOfMachines) {
  const std::string exchanging = std::string("{") + kProduct + R"(, "grid": {"m": 4}, "instruction": "fma.f32"})";
  EXPECT_THAT(mistakes(exchanging, "v100"), ElementsAre(HasSubstr("those of v100 do not")));
  EXPECT_THAT(mistakes(std::string("{") + kProduct + "}", "ipu_gc2"), ElementsAre(HasSubstr("which have registers")));
}

TEST(BspDocument, KeysOfFormat2AreRefusedWithTheirNamesOfToday) {
  const std::string node =
      std::string("{") + kProduct +
      R"(, "grid": {"m": 4}, "instruction": "fma.f32", "moves": {}, "placed": true, "homes": "cores",)"
      R"( "dataflow": {"A": "hold", "B": {"rotate": "k", "ring": 4}}})";
  EXPECT_THAT(mistakes(node, "ipu_gc2"),
              testing::IsSupersetOf(
                  {HasSubstr("dataflow.A: 'hold' is now called stationary"), HasSubstr("rotate: is now called shift"),
                   HasSubstr("moves: is now called dataflow"), HasSubstr("placed: is now called inputs_prearranged"),
                   HasSubstr("homes: is now called tensor_location")}));
}

}  // namespace
}  // namespace tilescope::tile
