// SPDX-License-Identifier: Apache-2.0
// Programs as documents: round trips, edges and batch lines.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/random_group.h"
#include "tests/support/random_program.h"
#include "tests/support/small_group.h"
#include "tests/unit/tile/stage_text.h"

namespace tilescope::tile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using tests::v100;

void expect_same(const StageProgram& a, const StageProgram& b) {
  RC_ASSERT(a.block == b.block);
  RC_ASSERT(a.thread == b.thread);
  RC_ASSERT(a.mapping == b.mapping);
  RC_ASSERT(a.thread_order == b.thread_order);
  RC_ASSERT(a.reduction_order == b.reduction_order);
  RC_ASSERT(a.reduction_threads == b.reduction_threads);
  RC_ASSERT(a.operands == b.operands);
  RC_ASSERT(a.split == b.split);
  RC_ASSERT(a.registers == b.registers);
  RC_ASSERT(a.unroll == b.unroll);
  RC_ASSERT(a.num_stages == b.num_stages);
  RC_ASSERT(a.block_order == b.block_order);
  RC_ASSERT(a.group_m == b.group_m);
  const TileSpace &s = *a.space, &t = *b.space;
  RC_ASSERT(s.stage().text == t.stage().text);
  RC_ASSERT(s.axes.size() == t.axes.size());
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    RC_ASSERT(s.axes[i].name == t.axes[i].name);
    RC_ASSERT(s.axes[i].extent == t.axes[i].extent);
  }
  RC_ASSERT(s.expression.dtype == t.expression.dtype);
  RC_ASSERT(s.expression.accumulate == t.expression.accumulate);
  for (std::size_t i = 0; i < s.expression.tensors.size(); ++i)
    RC_ASSERT(s.expression.tensors[i].shape == t.expression.tensors[i].shape);
}

RC_GTEST_PROP(ProgramJson, ReadsBackWhatItWrites, ()) {
  RProgram program{"v100", {}, {}};
  program.simt().push_back(tests::any_program(tests::any_operator(20), 1024));
  const std::string text = base::to_json(to_document(program, v100()), 2);
  RC_LOG() << text << '\n';
  const auto read = tests::read_program(text, v100());
  RC_ASSERT(read.errors.empty());
  RC_ASSERT(read.program->arch == "v100");
  RC_ASSERT(read.program->edges == program.edges);
  RC_ASSERT(read.program->stages() == program.stages());
  for (std::size_t i = 0; i < program.stages(); ++i) expect_same(program.simt()[i], read.program->simt()[i]);
  RC_ASSERT(base::to_json(to_document(*read.program, v100()), 2) == text);
}

// Stages of one operator with other sizes, element types or order.
TEST(ProgramJson, StagesAgreeAboutWhatTheyShare) {
  const auto stage = [](const char* op, int n, const char* dtype) {
    return fmt::format(R"({{"expr":"{}","sizes":{{"i":{}}},"dtype":"{}","tiles":{{"smem":{{"i":32}}}},)"
                       R"("mapping":{{"i":{{"threads":32}}}}}})",
                       op, n, dtype);
  };
  const auto errors = [&](const std::string& first, const std::string& second) {
    return tests::read_program("{\"nodes\":[" + first + ",\n" + second + "]}", v100()).errors;
  };
  const std::string writes = stage("T[i] = -I[i]", 64, "f32"), reads = stage("O[i] = -T[i]", 64, "f32");
  EXPECT_THAT(errors(writes, reads), testing::IsEmpty());
  EXPECT_THAT(errors(writes, stage("O[i] = -T[i]", 96, "f32")),
              testing::ElementsAre("p.json:2:1: T is f32 of 96 here, and f32 of 64 in an earlier node"));
  EXPECT_THAT(errors(writes, stage("O[i] = -T[i]", 64, "f16")),
              testing::ElementsAre("p.json:2:1: T is f16 of 64 here, and f32 of 64 in an earlier node"));
  EXPECT_THAT(errors(reads, writes), testing::ElementsAre("p.json:2:1: T is written here and used by an earlier node"));
  EXPECT_THAT(errors(writes, writes),
              testing::ElementsAre("p.json:2:1: T is written here and used by an earlier node"));
}

// Sums of integers are of the accumulator's type, and so is what a later node reads of them.
TEST(ProgramJson, SumsOfOneNodeAreInputsOfAnother) {
  base::Diagnostics diags;
  expr::Problem problem;
  problem.text = "T[i] +=! A[i,k] * B[k]; O[i] = T[i] + T[i]";
  problem.sizes = {{"i", 64, {}}, {"k", 32, {}}};
  problem.dtypes.arithmetic = base::Dtype::kI8;
  const std::optional<expr::Expression> e = expr::build(problem, diags);
  ASSERT_TRUE(e);
  RProgram program{"v100", {}, {{0, 1, "T", "dram"}}};
  for (std::size_t n = 0; n < 2; ++n) {
    const expr::Expression stage = expr::single_stage(*e, n);
    program.simt().push_back(make_stage_program(make_space(stage, no_collapse(stage.stages.front())), {{1, 32, 1}},
                                                n == 0 ? Extents{1, 8} : Extents{1}, base::Bytes{16}));
  }
  const std::string text = base::to_json(to_document(program, v100()));
  EXPECT_THAT(text, testing::HasSubstr(R"("dtype":"i8","dtypes":{"T":"i32"},"accumulate":"i32")"));
  const auto read = tests::read_program(text, v100());
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(base::to_json(to_document(*read.program, v100())), text);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return tests::read_program(other, v100()).errors;
  };
  EXPECT_THAT(changed(R"("dtypes":{"T")", R"("dtypes":{"O")"),
              testing::Contains(testing::HasSubstr("T is i8 of 64 here, and i32 of 64 in an earlier node")));
  EXPECT_THAT(
      changed(R"({"T":"i32"})", R"({"T":"f32"})"),
      testing::Contains(testing::HasSubstr("'T' is of f32, but the arithmetic is of i8: expected a float before it")));
}

TEST(ProgramJson, TellsTheOperandsOfOneTensorApart) {
  const expr::Expression e = tests::expression("C[i,j] +=! A[i,k] * A[j,k]", "i=64,j=64,k=64");
  StageProgram p = make_stage_program(make_space(e, no_collapse(e.stages.front())), {{1, 8, 1}, {1, 8, 1}}, {1, 1, 8},
                                      base::Bytes{16});
  p.operands[1].padding = 3;
  p.operands[1].vector = 1;
  const std::string text = base::to_json(to_document(program_of("v100", p), v100()));
  EXPECT_THAT(text, testing::HasSubstr(R"("cached":{"A":"smem","A#2":"smem"},"padding":{"A#2":3})"));
  const auto read = tests::read_program(text, v100());
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.program->simt()[0].operands, p.operands);
}

TEST(ProgramJson, KeepsAShapeThatIsLargerThanWhatIsRead) {
  const expr::Expression e = tests::expression("O[y,x] = I[y,x]", "y=4,x=4", "I=4,9");
  const auto space = make_space(e, no_collapse(e.stages.front()));
  const StageProgram p = make_stage_program(space, {{1, 4, 1}, {1, 4, 1}}, {1, 1}, {16});
  const auto read = tests::read_program(base::to_json(to_document(program_of("v100", p), v100())), v100());
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.program->space(0).expression.tensors[1].shape, e.tensors[1].shape);
  EXPECT_EQ(read.program->space(0).expression.tensors[0].shape, e.tensors[0].shape);
}

TEST(ProgramJson, NamesLevelsAsTheChipDoes) {
  const std::string text = base::to_json(to_document(*tests::read_stage(tests::kStage, v100()).program, v100()));
  EXPECT_THAT(text, testing::HasSubstr(R"("tiles":{"smem":{"m":16,"n":32,"k":8},"reg":{"m":2,"n":4}})"));
  EXPECT_THAT(text, testing::HasSubstr(R"("cached":{"A":"smem"},"padding":{"A":1})"));
}

std::vector<std::string> errors_of(std::string_view text) {
  return tests::read_program(std::string(text), v100()).errors;
}

TEST(ProgramJsonErrors, OfTheProgram) {
  EXPECT_THAT(errors_of("[]"), ElementsAre("p.json:1:1: a program: expected a map, got a list"));
  EXPECT_THAT(errors_of("{}"), ElementsAre("p.json:1:1: a program lacks the key 'nodes'"));
  EXPECT_THAT(errors_of(R"({"nodes": []})"), ElementsAre("p.json:1:1: nodes: expected at least one node"));
  EXPECT_THAT(errors_of(R"({"nodes": 3, "node": 1})"),
              ElementsAre("p.json:1:11: nodes: expected a list, got the number 3",
                          "p.json:1:14: unknown key 'node' in a program; did you mean 'nodes'?"));
  EXPECT_THAT(errors_of(R"({"nodes": [4]})"), ElementsAre("p.json:1:12: a node: expected a map, got the number 4"));
}

TEST(ProgramJsonErrors, OfOtherFormats) {
  EXPECT_THAT(errors_of(R"({"format": 1, "stages": []})"),
              ElementsAre("p.json:1:12: format: expected 3, got 1", "p.json:1:15: stages: is now called nodes"));
  EXPECT_THAT(errors_of(R"({"format": "2", "nodes": []})"),
              testing::Contains("p.json:1:12: format: expected a whole number, got the text '2'"));
  EXPECT_THAT(tests::read_program("{\"format\": 3, \"nodes\": [" + tests::kStage + "]}", v100()).errors, ElementsAre());
}

constexpr std::string_view kTwoStages =
    R"json({"nodes": [{"expr": "T[i] = relu(I[i])", "sizes": {"i": 64}, "tiles": {"smem": {"i": 32}}, "mapping": {"i": {"threads": 32}}},
{"expr": "O[i] = exp(T[i])", "sizes": {"i": 64}, "tiles": {"smem": {"i": 32}}, "mapping": {"i": {"threads": 32}}}],
"edges": )json";

TEST(ProgramJson, KeepsItsEdges) {
  const auto read = tests::read_program(
      std::string(kTwoStages) + R"([{"from": 0, "to": 1, "tensor": "T", "level": "smem"}]})", v100());
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_THAT(read.program->edges, ElementsAre(Edge{0, 1, "T", "smem"}));
}

TEST(ProgramJsonErrors, OfEdgesThatLeadNowhere) {
  EXPECT_THAT(
      errors_of(std::string(kTwoStages) + R"([{"from": 1, "to": 0, "tensor": "T", "level": "smem"}]})"),
      ElementsAre("p.json:3:11: an edge: expected 'from' before 'to', got 1 and 0",
                  "p.json:3:11: an edge: node 1 does not write 'T'", "p.json:3:11: an edge: node 0 does not read 'T'"));
}

// Of edges at every level; a chip whose tiles exchange has no kernels to keep a tensor in.
TEST(ProgramJsonErrors, OfLevelsThatNoTensorPassesIn) {
  const auto at_level = [](const std::string& level) {
    return errors_of(std::string(kTwoStages) + R"([{"from": 0, "to": 1, "tensor": "T", "level": ")" + level + "\"}]}");
  };
  EXPECT_THAT(at_level("dram"), ElementsAre());
  EXPECT_THAT(at_level("smem"), ElementsAre());
  for (const std::string level : {"l2", "l1"})
    EXPECT_THAT(at_level(level),
                ElementsAre("p.json:3:56: level: expected one of dram, smem, reg, got '" + level + "'"));
  const std::string why =
      ": expected none: T reaches the node in registers, which has the tiles and threads of the node that writes T";
  EXPECT_THAT(at_level("reg"), ElementsAre("p.json:2:59: tiles" + why, "p.json:2:91: mapping" + why));
}

// Where stages refuse each other the node that cannot be is named by its place.
TEST(ProgramJsonErrors, OfStagesThatShareAKernel) {
  const std::string wide =
      R"json({"nodes": [{"expr": "T[i] = relu(I[i])", "sizes": {"i": 64}, "tiles": {"smem": {"i": 32}}, "mapping": {"i": {"threads": 32}}},
{"expr": "O[i] = exp(T[i])", "sizes": {"i": 64}, "tiles": {"smem": {"i": 64}}, "mapping": {"i": {"threads": 64}}}],
"edges": [{"from": 0, "to": 1, "tensor": "T", "level": "smem"}]})json";
  EXPECT_THAT(errors_of(wide), Contains(HasSubstr("p.json:1:12: a block reads 64 elements of T along i")));
}

// In registers a tensor passes to a stage that reads it.
TEST(ProgramJsonErrors, OfRegistersThatTheNodeDoesNotRead) {
  const std::string text =
      R"json({"nodes": [{"expr": "T[i] = relu(I[i])", "sizes": {"i": 64}, "tiles": {"smem": {"i": 32}}, "mapping": {"i": {"threads": 32}}},
{"expr": "O[i] = exp(J[i])", "sizes": {"i": 64}}],
"edges": [{"from": 0, "to": 1, "tensor": "T", "level": "reg"}]})json";
  EXPECT_THAT(errors_of(text),
              ElementsAre("p.json:2:1: T does not reach the node in registers: the stage of O does not read T"));
}

// What hangs on a node that could not be read is left alone.
TEST(ProgramJsonErrors, OfTheNodeBeforeAnEpilogue) {
  const std::string text = R"json({"nodes": [{"expr": "T[i] = relu(I[i])", "sizes": {"i": 64}},
{"expr": "O[i] = exp(T[i])", "sizes": {"i": 64}}],
"edges": [{"from": 0, "to": 1, "tensor": "T", "level": "reg"}]})json";
  for (const std::string& error : errors_of(text)) EXPECT_THAT(error, HasSubstr("p.json:1:"));
  EXPECT_THAT(errors_of(text), Not(IsEmpty()));
}

// A product, its bias by every thread, and twice the sum, which leaves in rows.
constexpr const char* kEpilogues = R"({"nodes":[
{"expr":"T[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":64,"n":64,"k":32},"tiles":{"smem":{"m":32,"n":32,"k":8}},
 "mapping":{"m":{"threads":8,"per_thread":4},"n":{"threads":8,"per_thread":4}},"order":"column"},
{"expr":"D[m,n] = T[m,n] + C[n]","sizes":{"m":64,"n":64},"vector":{"C":2}},
{"expr":"O[m,n] = D[m,n] + T[m,n]","sizes":{"m":64,"n":64},"cached":{"O":"smem"},"padding":{"O":4}}],
"edges":[{"from":0,"to":1,"tensor":"T","level":"reg"},{"from":1,"to":2,"tensor":"D","level":"reg"},
{"from":0,"to":2,"tensor":"T","level":"reg"}]})";

TEST(ProgramJson, ReadsBackEpilogues) {
  const auto first = tests::read_program(kEpilogues, v100());
  ASSERT_THAT(first.errors, ElementsAre());
  const RProgram& program = *first.program;
  const StageProgram &product = program.simt()[0], &last = program.simt()[2];
  EXPECT_TRUE(last.mapping == product.mapping);
  EXPECT_EQ(last.block_order, BlockOrder::kColumn);
  EXPECT_EQ(program.simt()[1].operands[1].vector, 2);
  EXPECT_TRUE(last.operands.back().cached);
  EXPECT_EQ(last.operands.back().vector, 4);
  const std::string text = base::to_json(to_document(program, v100()));
  const auto read = tests::read_program(text, v100());
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.program->edges, program.edges);
  EXPECT_EQ(base::to_json(to_document(*read.program, v100())), text);
}

TEST(ProgramJsonErrors, OfEpilogues) {
  const auto changed = [](const std::string& what, const std::string& by) {
    return errors_of(tests::replaced(kEpilogues, what, by));
  };
  EXPECT_THAT(changed("D[m,n] = T[m,n] + C[n]", "D[m,n] = T[n,m] + C[n]"),
              ElementsAre("p.json:4:1: T does not reach the node in registers: the stage of D reads T at other places "
                          "than its own"));
  EXPECT_THAT(changed("D[m,n] = T[m,n] + C[n]", "D[m] +=! T[m,n]"),
              ElementsAre("p.json:4:1: T does not reach the node in registers: lanes of no matrix instruction hold T"));
  EXPECT_THAT(changed(R"("vector":{"C":2})", R"("cached":{"C":"smem"})"),
              ElementsAre("p.json:4:67: cached: an epilogue keeps no tile of C"));
  EXPECT_THAT(changed(R"("vector":{"C":2})", R"("vector":{"C":8})"),
              ElementsAre("p.json:4:67: vector.C: expected a divisor of 4, the widest access that fits, got 8"));
  EXPECT_THAT(changed(R"("vector":{"C":2})", R"("num_stages":2)"),
              ElementsAre(testing::HasSubstr("num_stages: expected none")));
}

TEST(ProgramJson, ReadsBackGroups) {
  const auto first = tests::read_program(tests::small_group(), v100());
  ASSERT_THAT(first.errors, ElementsAre());
  const RProgram& program = *first.program;
  EXPECT_EQ(program.edges.size(), 6U);
  const std::string text = base::to_json(to_document(program, v100()));
  const auto read = tests::read_program(text, v100());
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.program->edges, program.edges);
  EXPECT_EQ(base::to_json(to_document(*read.program, v100())), text);
}

RC_GTEST_PROP(ProgramJson, ReadsBackAnyGroup, ()) {
  const RProgram program = tests::any_group_program(v100());
  const std::string text = base::to_json(to_document(program, v100()), 2);
  RC_LOG() << text << '\n';
  const auto read = tests::read_program(text, v100());
  RC_ASSERT(read.errors.empty());
  RC_ASSERT(read.program->edges == program.edges);
  for (std::size_t i = 0; i < program.stages(); ++i) expect_same(program.simt()[i], read.program->simt()[i]);
  RC_ASSERT(base::to_json(to_document(*read.program, v100()), 2) == text);
}

TEST(ProgramJsonErrors, OfTheEdges) {
  const std::string head = "{\"nodes\": [" + tests::kStage + "],\n\"edges\": ";
  EXPECT_THAT(errors_of(head + R"([{"from": 0, "to": 1, "tensor": "C", "level": "smme"}]})"),
              ElementsAre("p.json:15:29: to: expected a whole number from 0 to 0, got the number 1",
                          "p.json:15:56: level: expected one of dram, smem, reg, got 'smme'; did you mean 'smem'?"));
  EXPECT_THAT(
      errors_of(head + "[{}]}"),
      ElementsAre("p.json:15:11: an edge lacks the key 'from'", "p.json:15:11: an edge lacks the key 'to'",
                  "p.json:15:11: an edge lacks the key 'tensor'", "p.json:15:11: an edge lacks the key 'level'"));
}

struct Line {
  std::optional<BatchLine> line;
  std::vector<std::string> errors;
};

Line batch_line(const std::string& text) {
  base::Diagnostics diags;
  SpaceCache cache;
  Line out;
  const auto value = base::read_json(text, diags.add_source("b.jsonl"), diags);
  if (value) out.line = read_batch_line(*value, v100(), cache, diags);
  out.errors = diags.formatted_errors();
  return out;
}

constexpr std::string_view kShortLine =
    R"({"id": "t1", "group": "g", "measured_us": 12.5, "expr": "C[m,n] +=! A[m,k] * B[k,n]", )"
    R"("sizes": {"m": 64, "n": 64, "k": 64}, "tiles": {"smem": {"m": 16, "n": 16, "k": 8}}, )"
    R"("mapping": {"m": {"threads": 16}, "n": {"threads": 16}}})";

TEST(BatchLine, FillsInWhatIsLeftOut) {
  const Line read = batch_line(std::string(kShortLine));
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.line->id, "t1");
  EXPECT_EQ(read.line->group, "g");
  EXPECT_EQ(read.line->measured_us, 12.5);
  const StageProgram& p = read.line->program.simt().at(0);
  EXPECT_EQ(p.block, (Extents{16, 16, 8}));
  EXPECT_EQ(p.thread, (Extents{1, 1, 1}));
  EXPECT_EQ(p.operands[0], (OperandPlan{true, 0, 4}));
  EXPECT_EQ(p.operands[1], (OperandPlan{true, 0, 4}));
  EXPECT_EQ(p.num_stages, 1);
  EXPECT_EQ(p.split, (Extents{1, 1, 1}));
}

TEST(BatchLine, ReportsItsOwnKeys) {
  EXPECT_THAT(batch_line(tests::replaced(std::string(kShortLine), "12.5", "0")).errors,
              ElementsAre("b.jsonl:1:43: measured_us: expected a time above 0, got 0"));
  EXPECT_THAT(batch_line(tests::replaced(std::string(kShortLine), "\"t1\"", "7")).errors,
              ElementsAre("b.jsonl:1:8: id: expected a text, got the number 7"));
  EXPECT_THAT(batch_line(tests::replaced(std::string(kShortLine), "\"group\"", "\"grup\"")).errors,
              ElementsAre("b.jsonl:1:14: unknown key 'grup' in a node; did you mean 'group'?"));
}

TEST(BatchLine, LinesOfOneOperatorShareItsSpace) {
  base::Diagnostics diags;
  SpaceCache cache;
  const auto value = base::read_json(kShortLine, diags.add_source("b.jsonl"), diags);
  const auto first = read_batch_line(*value, v100(), cache, diags),
             second = read_batch_line(*value, v100(), cache, diags);
  EXPECT_EQ(first->program.simt().at(0).space, second->program.simt().at(0).space);
}

}  // namespace
}  // namespace tilescope::tile
