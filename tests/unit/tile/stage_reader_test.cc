// SPDX-License-Identifier: Apache-2.0
// Every mistake of a stage's document by its text and its place.

#include "tile/stage_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tile/stage_text.h"
#include "tile/transfer/document.h"

namespace tilescope::tile {
namespace {

using testing::Contains;
using testing::ElementsAre;

// What a change of the legal stage reports; line 2 of the file is the stage's first.
std::vector<std::string> errors_with(std::string_view what, std::string_view by) {
  return tests::read_stage(tests::replaced(tests::kStage, what, by), tests::chip("v100")).errors;
}

TEST(StageReader, ReadsALegalStage) {
  const auto read = tests::read_stage(tests::kStage, tests::chip("v100"));
  ASSERT_THAT(read.errors, ElementsAre());
  const StageProgram& p = read.program->simt()[0];
  EXPECT_EQ(p.block, (Extents{16, 32, 8}));
  EXPECT_EQ(p.thread, (Extents{2, 4, 1}));
  EXPECT_EQ(p.mapping[0], (AxisMapping{2, 8, 1}));
  EXPECT_EQ(p.mapping[1], (AxisMapping{1, 8, 4}));
  EXPECT_EQ(p.operands[0], (OperandPlan{true, 1, 1})) << "rows of nine elements hold no whole vectors";
  EXPECT_EQ(p.operands[1], (OperandPlan{false, 0, 4}));
  EXPECT_EQ(p.split, (Extents{1, 1, 2}));
  EXPECT_EQ(p.unroll, 512);
  EXPECT_EQ(p.num_stages, 2);
  EXPECT_EQ(p.blocks(), 4 * 3 * 2);
  EXPECT_EQ(p.steps(), 2);
}

TEST(StageReader, ChoosesVectorsByWhatIsCachedAndPadded) {
  const auto vector_of_a = [](std::string_view what, std::string_view by) {
    const auto read = tests::read_stage(tests::replaced(tests::kStage, what, by), tests::chip("v100"));
    EXPECT_THAT(read.errors, ElementsAre());
    return read.program->simt()[0].operands[0].vector;
  };
  EXPECT_EQ(vector_of_a("{\"A\": 1}", "{}"), 4);
  EXPECT_EQ(vector_of_a("{\"A\": 1}", "{\"A\": 2}"), 2);
  EXPECT_EQ(vector_of_a("{\"A\": \"smem\"}", "{}"), 1) << "a thread owns no neighbours along k";
}

TEST(StageReader, TakesResultsThroughTheScratchpad) {
  const auto read = tests::read_stage(
      tests::replaced(tests::kStage, "{\"A\": \"smem\"}", "{\"A\": \"smem\", \"C\": \"smem\"}"), tests::chip("v100"));
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_TRUE(read.program->simt()[0].operands.back().cached);
  EXPECT_EQ(read.program->simt()[0].operands.back().vector, 4) << "whole rows, whatever a thread owns of them";
}

TEST(StageReader, TakesHowOperandsAreCopied) {
  const auto read =
      tests::read_stage(tests::replaced(tests::kStage, "\"padding\"", "\"copy\": {\"A\": \"blocked\"}, \"padding\""),
                        tests::chip("v100"));
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_TRUE(read.program->simt()[0].operands[0].blocked);
  EXPECT_FALSE(read.program->simt()[0].operands[1].blocked);
  EXPECT_THAT(
      errors_with("\"padding\"", "\"copy\": {\"A\": \"heaps\"}, \"padding\""),
      ElementsAre(testing::HasSubstr("copy.A: expected one of striped, blocked, tma, once, tma_once, got 'heaps'")));
}

// Errors of copies alone: whether the chip could load such a tile is asked only where the copies can be read.
TEST(StageReaderErrors, OfBoxes) {
  const auto errors_of_copies = [](const char* copies) {
    return errors_with("\"padding\"", (std::string(copies) + ", \"padding\""));
  };
  EXPECT_THAT(errors_of_copies(R"("copy": {"A": "tma"})"),
              ElementsAre(testing::HasSubstr("copy.A: 'tma' needs box.A, the elements of a box's row")));
  EXPECT_THAT(errors_of_copies(R"("copy": {"A": "tma"}, "box": {"B": 8})"),
              ElementsAre(testing::HasSubstr("copy.A: 'tma' needs box.A"),
                          testing::HasSubstr("box.B: only a tensor whose copy is 'tma' or 'tma_once' has a box")));
  EXPECT_THAT(errors_of_copies(R"("copy": {"A": "tma"}, "box": {"A": 0})"),
              ElementsAre(testing::HasSubstr("box.A: expected a whole number from 1 to 1048576, got the number 0")));
  EXPECT_THAT(errors_of_copies(R"("copy": {"A": "tma"}, "box": {"A": 8})"),
              ElementsAre(testing::HasSubstr("copy: v100 has no TMA engine (core.tma)")));
}

// Every key and value of format 1 is refused with its name of today.
TEST(StageReaderErrors, OfNamesOfFormat1) {
  const auto errors_of_key = [](const std::string& within, const std::string& was) {
    const std::string entry = "\"" + was + "\": 1, ";
    if (within.empty()) return errors_with("\"padding\"", (entry + "\"padding\""));
    return errors_with("\"m\": {\"vthread\"", ("\"m\": {" + entry + "\"vthread\""));
  };
  for (const base::RenamedKey& key : tile::kRenamedKeys) {
    const std::string was(key.was.substr(key.was.starts_with('.') ? 1 : 0));
    const std::string path = key.within.empty() ? was : "mapping.m." + was;
    EXPECT_THAT(errors_of_key(std::string(key.within), was),
                ElementsAre(testing::EndsWith(": " + path + ": is now called " + std::string(key.now))));
  }
  for (const base::RenamedKey& copy : tile::kRenamedCopies)
    EXPECT_THAT(errors_with("\"padding\"", fmt::format(R"("copy": {{"A": "{}"}}, "padding")", copy.was)),
                ElementsAre(testing::EndsWith(fmt::format("copy.A: '{}' is now called {}", copy.was, copy.now))));
  EXPECT_THAT(errors_with("\"order\": \"row\"", "\"order\": [\"k\"]"),
              ElementsAre("p.json:15:11: order: the order of reduced loops is now called reduction_order"));
}

TEST(StageReader, TakesRegisterTilesOfReducedAxes) {
  const auto with_reduction_tile = [](const char* window) {
    return tests::read_stage(tests::replaced(tests::kStage, R"("reg": {"m": 2, "n": 4})",
                                             fmt::format(R"("reg": {{"m": 2, "n": 4, "k": {}}})", window)),
                             tests::chip("v100"));
  };
  const auto read = with_reduction_tile("4");
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.program->simt()[0].thread, (Extents{2, 4, 4}));
  EXPECT_EQ(read.program->simt()[0].reduction_tiles_per_step(), 2);
  EXPECT_THAT(with_reduction_tile("3").errors,
              ElementsAre("p.json:6:77: tiles.reg.k: expected a divisor of the 8 iterations of a step, got 3"));
  EXPECT_THAT(with_reduction_tile("0").errors, ElementsAre(testing::HasSubstr("tiles.reg.k: expected")));
}

// The stage as two warps by two of 16x8x16 fragments.
const std::string kFragments = R"({"expr": "C[m,n] +=! A[m,k] * B[k,n]",
 "sizes": {"m": 64, "n": 96, "k": 32},
 "dtype": "f16",
 "tiles": {"smem": {"m": 32, "n": 32, "k": 16}, "reg": {"m": 16, "n": 16, "k": 16}},
 "mapping": {"m": {"threads": 2, "per_thread": 16}, "n": {"threads": 2, "per_thread": 16}},
 "mma": {"name": "mma.f16", "m": "m", "n": "n", "k": "k"}})";

std::vector<std::string> errors_of_fragments(std::string_view what, std::string_view by) {
  return tests::read_stage(tests::replaced(kFragments, what, by), tests::chip("a100")).errors;
}

TEST(StageReader, TakesAMatrixInstruction) {
  const auto read = tests::read_stage(kFragments, tests::chip("a100"));
  ASSERT_THAT(read.errors, ElementsAre());
  const StageProgram& p = read.program->simt()[0];
  ASSERT_TRUE(p.matrix() != nullptr);
  EXPECT_EQ(*p.matrix(), (MatrixUnit{"mma.f16", 0, 1, 2, 16, 8, 16, 32, 8, {}}));
  EXPECT_EQ(p.threads(), 4 * 32) << "the mapping counts warps";
  EXPECT_EQ(p.thread, (Extents{16, 16, 16})) << "a fragment along k";
  EXPECT_TRUE(p.operands[0].cached && p.operands[1].cached);
  EXPECT_EQ(p.operands[2].vector, 2) << "lanes hold pairs of columns";
}

TEST(StageReader, RefusesWhatAMatrixInstructionCannotMultiply) {
  using testing::HasSubstr;
  EXPECT_THAT(errors_of_fragments("mma.f16", "mma.f17"), ElementsAre(HasSubstr("did you mean 'mma.f16'?")));
  EXPECT_THAT(errors_of_fragments("mma.f16", "mma.i8"),
              testing::Contains(HasSubstr("mma: mma.i8 multiplies i8 into i32, the node f16 into f32")));
  EXPECT_THAT(errors_of_fragments(R"("m": "m", "n": "n")", R"("m": "n", "n": "m")"),
              ElementsAre(HasSubstr("no matrix product along m, n and k")));
  EXPECT_THAT(errors_of_fragments(R"("k": "k"}})", R"("k": "q"}})"), ElementsAre(HasSubstr("'q' is no axis")));
  EXPECT_THAT(
      errors_of_fragments(R"("m": {"threads": 2, "per_thread": 16})", R"("m": {"threads": 4, "per_thread": 8})"),
      testing::Contains(HasSubstr("8 along m are no whole fragments of 16")));
}

TEST(StageReader, TakesTheThreadOrderFromTheMapping) {
  const auto read = tests::read_stage(
      tests::replaced(tests::kStage, R"("m": {"vthread": 2, "threads": 8}, "n": {"threads": 8, "per_thread": 4})",
                      R"("n": {"threads": 8, "per_thread": 4}, "m": {"vthread": 2, "threads": 8})"),
      tests::chip("v100"));
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.program->simt()[0].thread_order, (base::FixedVector<int, kMaxAxes>{1, 0}));
}

TEST(StageReaderErrors, OfTheOperator) {
  EXPECT_THAT(errors_with("\"expr\"", "\"exprs\""),
              ElementsAre("p.json:2:1: a node lacks the key 'expr'",
                          "p.json:2:2: unknown key 'exprs' in a node; did you mean 'expr'?"));
  EXPECT_THAT(errors_with("B[k,n]", "B[k,n"), ElementsAre(testing::StartsWith("p.json:2:")));
  EXPECT_THAT(errors_with("\"m\": 64", "\"m\": 0"),
              ElementsAre("p.json:3:17: sizes.m: expected a whole number of at least 1, got the number 0"));
  EXPECT_THAT(errors_with("\"m\": 64", "\"m\": 6.5"),
              ElementsAre("p.json:3:17: sizes.m: expected a whole number of at least 1, got the number 6.5"));
  EXPECT_THAT(errors_with("\"f32\",\n \"acc", "\"f23\",\n \"acc"),
              ElementsAre("p.json:4:11: dtype: expected one of f32, tf32, f16, bf16, i8, i32, f64, f8e4m3, f8e5m2, "
                          "f8e4m3fnuz, f8e5m2fnuz, u8, got 'f23'; did you mean 'f32'?"));
  EXPECT_THAT(errors_with("\"dtype\"", "\"shapes\": {\"A\": [64, \"x\"]},\"dtype\""),
              ElementsAre("p.json:4:23: shapes.A: expected a whole number of at least 1, got the text 'x'"));
  EXPECT_THAT(
      errors_with("C[m,n] +=! A[m,k] * B[k,n]", "T[m,n] +=! A[m,k] * B[k,n]; C[m,n] = T[m,n]"),
      ElementsAre("p.json:2:10: expr: expected one stage; a program of several lists one per entry of 'nodes'"));
}

TEST(StageReaderErrors, OfTheMapping) {
  EXPECT_THAT(errors_with(R"("n": {"threads": 8, "per_thread": 4})", R"("q": {})"),
              ElementsAre("p.json:7:13: mapping lacks the axis 'n'",
                          testing::StartsWith("p.json:7:49: mapping: 'q' is no axis of the node")))
      << "what the tiles should be is then unknown";
  EXPECT_THAT(errors_with(R"("per_thread": 4})", R"("per_thread": 4}, "k": {"threads": 2})"), testing::IsEmpty())
      << "threads that share a reduction";
  EXPECT_THAT(errors_with(R"("per_thread": 4})", R"("per_thread": 4}, "k": {"threads": 3})"),
              ElementsAre("p.json:7:13: mapping: 3 threads share k by 1 iterations, which does not cut a step of 8"));
  EXPECT_THAT(errors_with(R"("per_thread": 4})", R"("per_thread": 4}, "k": {"threads": 2, "vthread": 2})"),
              ElementsAre(testing::StartsWith("p.json:7:107: unknown key 'vthread' in mapping.k")));
  EXPECT_THAT(
      errors_with("\"threads\": 8}", "\"threads\": 0}"),
      ElementsAre("p.json:7:45: mapping.m.threads: expected a whole number from 1 to 1099511627776, got the number 0"));
  EXPECT_THAT(errors_with("\"vthread\"", "\"vthraed\""),
              ElementsAre("p.json:7:20: unknown key 'vthraed' in mapping.m; did you mean 'vthread'?"));
  EXPECT_THAT(errors_with(R"("mapping": {)", R"("mapping": 3, "mapping": {)"),
              ElementsAre("p.json:7:13: mapping: expected a map, got the number 3",
                          "p.json:7:16: duplicate key 'mapping' in a node"));
}

TEST(StageReaderErrors, OfTheTiles) {
  EXPECT_THAT(errors_with("\"m\": 16", "\"m\": 32"),
              ElementsAre("p.json:6:26: tiles.smem.m is 32, but mapping and reduction steps make it 16"));
  EXPECT_THAT(errors_with("\"k\": 8}", "\"q\": 8}"),
              ElementsAre("p.json:6:20: tiles.smem lacks the axis 'k'",
                          testing::StartsWith("p.json:6:39: tiles.smem: 'q' is no axis of the node")));
  EXPECT_THAT(errors_with("{\"m\": 2, \"n\": 4}", "{\"m\": 2}"),
              ElementsAre("p.json:6:55: tiles.reg lacks the axis 'n'"));
  EXPECT_THAT(errors_with("\"reg\"", "\"regs\""),
              ElementsAre("p.json:6:48: unknown key 'regs' in tiles; did you mean 'reg'?"));
  EXPECT_THAT(
      errors_with("\"k\": 8}", "\"k\": -8}"),
      ElementsAre("p.json:6:44: tiles.smem.k: expected a whole number from 1 to 1099511627776, got the number -8"));
  EXPECT_THAT(errors_with("\"smem\": {\"m\"", "\"shared\": {\"m\""),
              Contains("p.json:6:11: tiles lacks the key 'smem'"));
}

TEST(StageReaderErrors, OfTheOperands) {
  EXPECT_THAT(errors_with("{\"A\": \"smem\"}", "{\"A\": \"l1\"}"),
              ElementsAre("p.json:8:18: cached.A: expected one of smem, got 'l1'"));
  EXPECT_THAT(errors_with("{\"A\": \"smem\"}", "{\"D\": \"smem\"}"),
              ElementsAre(testing::StartsWith("p.json:8:13: cached: 'D' is no tensor of the node")));
  EXPECT_THAT(errors_with("{\"A\": \"smem\"}", "{\"C\": \"smem\"}, \"rotate\": {\"C\": 4}"),
              ElementsAre(testing::EndsWith("cached: rows of results are not rotated")));
  EXPECT_THAT(errors_with("{\"A\": \"smem\"}", "{\"C\": \"smem\"}, \"copy\": {\"C\": \"blocked\"}"),
              ElementsAre(testing::HasSubstr("cached: results are stored in stripes")));
  EXPECT_THAT(errors_with("{\"A\": \"smem\"}", "{\"C\": \"smem\"}, \"copy\": {\"C\": \"tma\"}, \"box\": {\"C\": 4}"),
              ElementsAre(testing::EndsWith("cached: v100 has no TMA engine (core.tma)")));
  EXPECT_THAT(errors_with("{\"A\": 1}", "{\"A\": -1}"),
              ElementsAre("p.json:9:19: padding.A: expected a whole number from 0 to 1048576, got the number -1"));
  EXPECT_THAT(errors_with("{\"B\": 4}", "{\"B\": 65}"),
              ElementsAre("p.json:10:18: vector.B: expected a whole number from 1 to 64, got the number 65"));
  EXPECT_THAT(errors_with("{\"B\": 4}", "{\"D\": 4}"),
              ElementsAre(testing::StartsWith("p.json:10:13: vector: 'D' is no tensor of the node")));
}

TEST(StageReaderErrors, OfTheLoops) {
  EXPECT_THAT(errors_with("[\"k\"]", "[\"m\"]"),
              ElementsAre("p.json:11:21: reduction_order: expected every reduced axis once",
                          "p.json:11:22: reduction_order: expected every reduced axis once, got 'm'"));
  EXPECT_THAT(errors_with("[\"k\"]", "[\"k\", \"k\"]"),
              ElementsAre("p.json:11:27: reduction_order: expected every reduced axis once, got 'k'"));
  EXPECT_THAT(errors_with("[\"k\"]", "[]"),
              ElementsAre("p.json:11:21: reduction_order: expected every reduced axis once"));
  EXPECT_THAT(errors_with("512", "-1"),
              ElementsAre("p.json:12:12: unroll: expected a whole number from 0 to 1099511627776, got the number -1"));
  EXPECT_THAT(errors_with("\"num_stages\": 2", "\"num_stages\": 65"),
              ElementsAre("p.json:13:16: num_stages: expected a whole number from 1 to 64, got the number 65"));
  EXPECT_THAT(errors_with("{\"k\": 2}", "{\"k\": 33}"),
              ElementsAre("p.json:14:17: split.k: expected a whole number from 1 to 32, got the number 33"));
  EXPECT_THAT(errors_with("{\"k\": 2}", "{\"n\": 2}"),
              ElementsAre("p.json:14:12: split: 'n' is spatial; only a reduction is split"));
  EXPECT_THAT(errors_with("\"order\": \"row\"", "\"order\": \"rwo\""),
              ElementsAre("p.json:15:11: order: expected one of row, column, got 'rwo'; did you mean 'row'?"));
  EXPECT_THAT(errors_with("\"order\": \"row\"", "\"order\": \"row\", \"group_m\": 3"),
              ElementsAre("p.json:15:29: group_m: expected a divisor of 4, the blocks along m, got 3"));
}

TEST(StageReaderErrors, AllOfAStageAtOnce) {
  std::string text = tests::replaced(tests::kStage, "\"m\": 16", "\"m\": 17");
  text = tests::replaced(text, "{\"B\": 4}", "{\"B\": 0}");
  text = tests::replaced(text, "\"unroll\"", "\"unrol\"");
  EXPECT_THAT(tests::read_stage(text, tests::chip("v100")).errors,
              ElementsAre("p.json:6:26: tiles.smem.m is 17, but mapping and reduction steps make it 16",
                          "p.json:10:18: vector.B: expected a whole number from 1 to 64, got the number 0",
                          "p.json:12:2: unknown key 'unrol' in a node; did you mean 'unroll'?"));
}

TEST(StageErrors, OfAccessesThatStraddleRows) {
  const std::string head = R"({"expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 64, "n": 64, "k": 64},
"tiles": {"smem": {"m": 16, "n": 16, "k": 8}}, "mapping": {"m": {"threads": 16}, "n": {"threads": 16}},
)";
  const auto errors_with = [&](const std::string& rest) {
    return tests::read_stage(head + rest + "}", tests::chip("v100")).errors;
  };
  EXPECT_THAT(errors_with(R"("vector": {"A": 4, "B": 2})"), testing::ElementsAre());
  EXPECT_THAT(
      errors_with(R"("vector": {"B": 8})"),
      testing::ElementsAre("p.json:4:11: vector.B: expected a divisor of 4, the widest access that fits, got 8"));
  EXPECT_THAT(
      errors_with(R"("padding": {"A": 1}, "vector": {"A": 2})"),
      testing::ElementsAre("p.json:4:32: vector.A: expected a divisor of 1, the widest access that fits, got 2"));
}

}  // namespace
}  // namespace tilescope::tile
