// SPDX-License-Identifier: Apache-2.0
// The limits of a chip and the sentences that name them.

#include "tile/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "base/document.h"
#include "tests/support/random_program.h"
#include "tests/unit/tile/stage_text.h"
#include "tile/program_json.h"
#include "tile/staging.h"

namespace tilescope::tile {
namespace {

using testing::ElementsAre;

std::vector<std::string> exceeded(const StageProgram& p, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const bool fits = check_fit(p, a, diags);
  EXPECT_EQ(fits, diags.ok());
  return diags.sentences();
}

StageProgram matmul(std::int64_t threads, std::int64_t step) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  return make_stage_program(make_space(e, no_collapse(e.stages.front())), {{4, threads, 1}, {4, threads, 1}},
                            {1, 1, step}, {16});
}

TEST(Fit, AcceptsWhatIsExactlyFull) {
  const arch::ArchSpec v100 = tests::chip("v100");
  const StageProgram p = matmul(32, 96);
  EXPECT_EQ(p.threads(), 1024);
  EXPECT_EQ(staging_of(p, v100.core).bytes.n, 96 * 1024);
  EXPECT_THAT(exceeded(p, v100), ElementsAre());
  EXPECT_TRUE(fits(p, v100));
}

TEST(Fit, NamesEveryLimitThatIsExceeded) {
  const arch::ArchSpec v100 = tests::chip("v100");
  EXPECT_THAT(exceeded(matmul(33, 96), v100),
              ElementsAre("threads a block: needs 1089, v100 has 1024 (core.max_block_threads)",
                          "scratchpad bytes a block: needs 101376 B, v100 has 98304 B (memory.smem.per_block)"));
  EXPECT_FALSE(fits(matmul(33, 1), v100));
  EXPECT_FALSE(fits(matmul(32, 97), v100));
}

// What a document says too much of is refused where it says so: a value of the key that is at fault begins there.
RC_GTEST_PROP(Fit, RefusesAtTheKeyThatAsksForTooMuch, ()) {
  static const arch::ArchSpec kTiny = tests::chip("v100", {{"core.max_block_threads", "64"},
                                                           {"memory.smem.per_block", "1 KiB"},
                                                           {"memory.dram.capacity", "16 KiB"},
                                                           {"memory.reg.per_thread", "16"}});
  const RProgram written = tests::any_rprogram(kTiny, 64, 256);
  base::Diagnostics diags;
  const std::string text = base::to_json(to_document(written, kTiny));
  const auto document = base::read_json(text, diags.add_source("p.json"), diags);
  RC_ASSERT(document.has_value());
  const ProgramPlaces places = places_of(*document, kTiny);
  RC_ASSERT(places.nodes.size() == written.stages());
  const auto text_at = [&](base::Position at) {
    std::size_t begin = 0;
    for (std::uint32_t line = 1; line < at.line; ++line) begin = text.find('\n', begin) + 1;
    return text.substr(begin + at.column - 1);
  };
  const base::List& nodes = *document->find("nodes")->get_if<base::List>();
  for (std::size_t n = 0; n < written.stages(); ++n) {
    base::Diagnostics of_node;
    check_fit(written.simt()[n], kTiny, of_node, places.at(n));
    for (const base::Diagnostic& d : of_node.errors()) {
      const bool threads = d.text.starts_with("threads"), registers = d.text.starts_with("registers");
      const bool scratchpad = d.text.starts_with("scratchpad");
      RC_CLASSIFY(threads, "threads");
      RC_CLASSIFY(registers, "registers");
      RC_CLASSIFY(scratchpad, "scratchpad");
      const base::Value* key = threads      ? nodes[n].find("mapping")
                               : registers  ? nodes[n].find("registers")
                               : scratchpad ? nodes[n].find("tiles")->find("smem")
                                            : nodes[n].find("sizes");
      RC_ASSERT(key != nullptr);
      RC_ASSERT(d.at == key->at);
      RC_ASSERT(text_at(d.at).starts_with(registers ? std::to_string(written.simt()[n].registers) : "{"));
    }
  }
}

// Without the keys the errors stand at the node.
TEST(Fit, RefusesAtTheNodeWhatItDoesNotSay) {
  base::Diagnostics diags;
  const auto node = base::read_json(R"( {"tiles": 3, "mma": 4})", diags.add_source("p.json"), diags);
  const NodePlaces at = places_of(*node, tests::chip("v100")).at(0);
  EXPECT_EQ(at.mapping, node->at);
  EXPECT_EQ(at.registers, node->at);
  EXPECT_EQ(at.tile, node->find("tiles")->at);
  EXPECT_EQ(at.mma, node->find("mma")->at);
}

// A partition has 16384 registers for 8 warps of 1024 threads, or for 3 of the 9 warps of 288.
TEST(Fit, CountsTheRegistersThatAProgramStates) {
  const arch::ArchSpec v100 = tests::chip("v100");
  StageProgram p = matmul(32, 96);
  p.registers = 64;
  EXPECT_TRUE(fits(p, v100));
  p.registers = 65;
  EXPECT_THAT(exceeded(p, v100),
              ElementsAre("registers a thread: needs 65, v100 leaves a block of so many threads 64 (memory.reg)"));
  EXPECT_EQ(arch::max_registers(v100, 288), 168) << "of 170, in eights";
  EXPECT_EQ(arch::max_registers(v100, 256), 255);
  EXPECT_EQ(arch::max_registers(tests::chip("v100", {{"memory.reg.granule", "4"}}), 288), 168) << "of 170, in fours";
  EXPECT_EQ(arch::max_registers(tests::chip("v100", {{"memory.reg.granule", "1"}}), 288), 170);
  EXPECT_EQ(arch::max_registers(tests::chip("v100", {{"memory.reg.granule", "32"}}), 288), 160);
}

// 64 sums of 32 bits stay until the reduction is done; a chip that has more registers changes nothing about that.
TEST(Fit, RefusesFewerRegistersThanSums) {
  const arch::ArchSpec v100 = tests::chip("v100");
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  StageProgram p =
      make_stage_program(make_space(e, no_collapse(e.stages.front())), {{8, 8, 1}, {8, 8, 1}}, {1, 1, 8}, {16});
  p.registers = 64;
  EXPECT_THAT(exceeded(p, v100), ElementsAre());
  EXPECT_TRUE(holds_sums(p));
  p.registers = 63;
  EXPECT_THAT(exceeded(p, v100), ElementsAre("registers a thread: its sums alone need 64, the program states 63"));
  EXPECT_FALSE(fits(p, v100));
  EXPECT_FALSE(holds_sums(p));
  p.registers = 0;
  EXPECT_TRUE(fits(p, v100)) << "others' kernels ran, whatever they took";
}

// Registers that a chip does not have for a thread of so large a block.
TEST(Fit, RefusesMoreRegistersThanABlockLeavesItsThreads) {
  arch::ArchSpec chip = tests::chip("v100", {{"memory.reg.capacity", "4 KiB"}});
  const expr::Expression e = tests::expression("O[i] = I[i]", "i=65536");
  StageProgram p = make_stage_program(make_space(e, no_collapse(e.stages.front())), {{1, 64, 1}}, {64}, {16});
  p.registers = 8;
  EXPECT_TRUE(holds_registers(p, chip));
  p.registers = 32;
  EXPECT_FALSE(holds_registers(p, chip));
  EXPECT_TRUE(holds_sums(p));
  EXPECT_FALSE(fits(p, chip));
}

// 256 registers of a core are 2 for each lane of its four warps.
TEST(Fit, RefusesProgramsOfOthersWhereARegisterFileHasNoGranuleForAThread) {
  StageProgram p = matmul(16, 8);
  EXPECT_EQ(p.registers, 0);
  EXPECT_TRUE(holds_registers(p, tests::chip("v100", {{"memory.reg.capacity", "8 KiB"}})));
  const arch::ArchSpec tiny = tests::chip("v100", {{"memory.reg.capacity", "1 KiB"}});
  EXPECT_FALSE(fits(p, tiny));
  EXPECT_FALSE(holds_registers(p, tiny));
  EXPECT_THAT(exceeded(p, tiny),
              ElementsAre("registers a thread: needs 8, v100 leaves a block of so many threads 0 (memory.reg)"));
}

// What is computed and stored at once needs no register for longer.
TEST(Fit, LetsResultsWithoutSumsTakeFewRegisters) {
  const expr::Expression e = tests::expression("O[i] = A[i]", "i=65536");
  StageProgram p = make_stage_program(make_space(e, no_collapse(e.stages.front())), {{1, 32, 64}}, {1}, {16});
  p.registers = 1;
  EXPECT_TRUE(fits(p, tests::chip("v100")));
}

TEST(Fit, CountsPaddingAndPipelineStages) {
  const arch::ArchSpec v100 = tests::chip("v100");
  StageProgram p = matmul(32, 96);
  p.operands[0].padding = 1;
  EXPECT_THAT(exceeded(p, v100),
              ElementsAre("scratchpad bytes a block: needs 98816 B, v100 has 98304 B (memory.smem.per_block)"));
  p = matmul(32, 48);
  p.num_stages = 2;
  EXPECT_TRUE(fits(p, v100));
  p.num_stages = 3;
  EXPECT_FALSE(fits(p, v100));
}

TEST(Fit, CountsWhatAligningTheTilesTakes) {
  const arch::ArchSpec v100 = tests::chip("v100");
  const expr::Expression e = tests::expression("O[i] +=! S[k] * A[i,k]", "i=8191,k=300");
  const auto space = make_space(e, no_collapse(e.stages.front()));
  // 12 B of S and 98292 B of A: together what the chip has, but A begins at the next multiple of 16 B.
  StageProgram p = make_stage_program(space, {{8191, 1, 1}}, {1, 3}, {16});
  EXPECT_THAT(exceeded(p, v100),
              ElementsAre("scratchpad bytes a block: needs 98308 B, v100 has 98304 B (memory.smem.per_block)"));
  EXPECT_FALSE(fits(p, v100));
  p.operands[0].cached = false;
  EXPECT_TRUE(fits(p, v100));
}

TEST(Fit, OneStepHasNothingToHoldAhead) {
  const arch::ArchSpec v100 = tests::chip("v100");
  StageProgram p = matmul(32, 96);
  p.num_stages = 2;
  EXPECT_FALSE(fits(p, v100));
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=96");
  p.space = make_space(e, no_collapse(e.stages.front()));
  EXPECT_TRUE(fits(p, v100));
}

TEST(Staging, TilesBeginWhereTheChipsWidestAccessDoes) {
  const expr::Expression e = tests::expression("O[i] +=! S[k] * A[i,k]", "i=64,k=300");
  const auto space = make_space(e, no_collapse(e.stages.front()));
  StageProgram p = make_stage_program(space, {{1, 32, 1}}, {1, 3}, {16});
  p.num_stages = 3;
  const StagingLayout narrow = staging_of(p, tests::chip("v100").core);
  EXPECT_EQ(narrow.begins[0].n, 0);
  EXPECT_EQ(narrow.begins[1].n, 48) << "three slots of 12 B, to the next multiple of 16 B";
  EXPECT_EQ(narrow.bytes.n, 48 + 3 * 32 * 3 * 4);
  EXPECT_EQ(staging_of(p, tests::chip("v100", {{"core.max_access", "32 B"}}).core).begins[1].n, 64);
}

TEST(Fit, AddsTensorsBeyond64Bits) {
  const arch::ArchSpec v100 = tests::chip("v100");
  const auto copy = [](const char* text) {
    const expr::Expression e = tests::expression(text, "i=576460752303423488");  // 2^61 bytes a tensor
    return make_stage_program(make_space(e, no_collapse(e.stages.front())), {{1, 32, 1}}, {1}, {16});
  };
  const StageProgram eight = copy("B[i] = A[i] + C[i] + D[i] + E[i] + F[i] + G[i] + H[i]");
  EXPECT_FALSE(fits(eight, v100));
  EXPECT_THAT(exceeded(eight, v100), ElementsAre("bytes of all tensors: needs 9223372036854775807 B, v100 has "
                                                 "17179869184 B (memory.dram.capacity)"));
  EXPECT_FALSE(fits(copy("B[i] = A[i] + C[i] + D[i]"), v100));
}

TEST(Fit, DoesNotCountWhatIsNotCached) {
  const arch::ArchSpec v100 = tests::chip("v100");
  StageProgram p = matmul(32, 96);
  p.operands[0].padding = 1000;
  p.operands[0].cached = p.operands[1].cached = false;
  EXPECT_TRUE(fits(p, v100));
}

}  // namespace
}  // namespace tilescope::tile
