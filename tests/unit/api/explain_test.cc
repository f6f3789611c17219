// SPDX-License-Identifier: Apache-2.0
// How times answer to the numbers of a chip: elasticities that follow from what binds, that compiling on the changed
// chip agrees with, and that do not depend on the number of jobs.

#include "api/explain.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/construct.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/support/workloads.h"

namespace tilescope::api {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using tests::chip;
using tests::workload;

constexpr const char* kExplained = "C[m,n] +=! A[m,k] * B[k,n]";
constexpr double kAbout = 0.05;

std::vector<ExplainedOperator> explained(const Workload& w, const std::string& name = "v100", int jobs = 2,
                                         const std::vector<arch::Override>& sets = {}) {
  base::Diagnostics diags;
  const arch::ArchSpec a = chip(name, sets);
  const LoadChanged load = [&](const arch::Override& one_more, base::Diagnostics& own) {
    std::vector<arch::Override> all = sets;
    all.push_back(one_more);
    return arch::load_arch(name, all, own);
  };
  auto out = explain(w, a, load, jobs, [](std::size_t, std::size_t) {}, diags);
  tests::require_no_errors(diags);
  return std::move(out.value());
}

std::vector<Elasticity> at(const ExplainedOperator& op, const std::string& path) {
  std::vector<Elasticity> out;
  for (const Elasticity& e : op.elasticities)
    if (e.change.path == path) out.push_back(e);
  if (out.empty()) throw std::runtime_error(path + " has no elasticity");
  return out;
}

void expect_about(const ExplainedOperator& op, const std::string& path, double expected) {
  for (const Elasticity& e : at(op, path))
    EXPECT_NEAR(e.elasticity, expected, kAbout) << path << " = " << base::to_json(e.change.changed);
}

TEST(Explain, ElementwiseAnswersToDramAlone) {
  const ExplainedOperator op = explained(workload("O[i] = A[i] + B[i]", "i=100000000")).at(0);
  EXPECT_EQ(op.prediction->bottleneck, "dram");
  EXPECT_EQ(op.next, "dispatch");
  for (const char* path : {"memory.dram.clock", "memory.dram.channels", "memory.dram.width"})
    expect_about(op, path, -1);
  // A burst that takes half as long waits for the next column as long as before (ccd_s).
  EXPECT_GT(at(op, "memory.dram.rate").at(0).elasticity, -0.2) << "doubled";
  EXPECT_NEAR(at(op, "memory.dram.rate").at(1).elasticity, -1, kAbout) << "halved";
  for (const char* path : {"core.count", "clock", "compute.fma.f32.per_core", "launch_overhead"})
    expect_about(op, path, 0);
}

TEST(Explain, LargeMatmulAnswersToTheCoresClock) {
  const ExplainedOperator op = explained(workload(kExplained, "m=4096,n=4096,k=4096")).at(0);
  EXPECT_EQ(op.prediction->bottleneck, "arithmetic");
  EXPECT_NE(op.next, "arithmetic");
  expect_about(op, "clock", -1);
  expect_about(op, "memory.dram.clock", 0);
  // Half the units bind; twice as many leave another resource to bind.
  EXPECT_LT(at(op, "compute.fma.f32.per_core").at(0).elasticity, -0.5);
  EXPECT_NEAR(at(op, "compute.fma.f32.per_core").at(1).elasticity, -1, kAbout);
}

TEST(Explain, PowersOfTwoAreDoubledAndHalvedAndTheRestRaisedByATenth) {
  const ExplainedOperator op = explained(workload(kExplained, "m=256,n=256,k=256")).at(0);
  const auto changed = [&](const std::string& path) {
    std::vector<std::string> out;
    for (const Elasticity& e : at(op, path)) out.push_back(base::to_json(e.change.changed));
    return out;
  };
  EXPECT_THAT(changed("memory.smem.banks"), testing::ElementsAre("64", "16"));
  EXPECT_THAT(changed("memory.dram.ranks"), testing::ElementsAre("2"));
  EXPECT_THAT(changed("memory.smem.bank_width"), testing::ElementsAre("\"8 B\"", "\"2 B\""));
  EXPECT_THAT(changed("core.count"), testing::ElementsAre("88"));
  EXPECT_THAT(changed("core.block_launch"), testing::ElementsAre("\"393 cycles\""));
  EXPECT_THAT(changed("memory.l1.latency"), testing::ElementsAre("\"31 cycles\""));
  EXPECT_THAT(changed("clock"), testing::ElementsAre("\"1.518 GHz\""));
}

// What compiling on the changed chip finds is the best there, or the program that was known is better still.
TEST(Explain, AgreesWithCompilingOnTheChangedChip) {
  const Workload w = workload(kExplained, "m=1000,n=768,k=512");
  const ExplainedOperator op = explained(w).at(0);
  for (const auto& [path, value, ratio] : {std::tuple{"memory.smem.banks", "64", 2.0},
                                           {"memory.smem.banks", "16", 0.5},
                                           {"compute.fma.f32.per_core", "128", 2.0},
                                           {"memory.l2.slices", "128", 2.0},
                                           {"core.max_threads", "1024", 0.5},
                                           {"memory.l1.mshrs", "1024", 2.0},
                                           {"compute.fma.f16.per_core", "256", 2.0}}) {
    base::Diagnostics diags;
    const arch::ArchSpec changed = chip("v100", {{path, value}});
    const auto compiled = compile(w, changed, {Search::kRoller}, 10, 1, [](std::size_t, std::size_t) {}, diags);
    const double there_us = best_of(compiled.value().at(0)).prediction.predicted_us;
    const std::vector<Elasticity> rows = at(op, path);
    const auto e = std::find_if(rows.begin(), rows.end(),
                                [&](const Elasticity& r) { return base::to_json(r.change.changed) == value; });
    ASSERT_NE(e, rows.end()) << path;
    EXPECT_NEAR(e->predicted_us, std::min(there_us, e->fixed_us.value()), 1e-9) << path << "=" << value;
    EXPECT_NEAR(e->elasticity, std::log2(e->predicted_us / op.prediction->predicted_us) / std::log2(ratio), 1e-9);
  }
}

// Neither search nor its kernels of several stages see what only the simulator reads.
TEST(Explain, StagesThatShareAKernelAgreeWithCompilingToo) {
  const Workload w = workload("S[m,n] +=! A[m,k] * B[k,n]; O[m,n] = relu(S[m,n])", "m=512,n=384,k=256");
  const ExplainedOperator op = explained(w).at(0);
  for (const auto& [path, value] : {std::pair{"memory.l1.mshrs", "1024"}, {"memory.dram.write_threshold", "16"}}) {
    base::Diagnostics diags;
    const arch::ArchSpec changed = chip("v100", {{path, value}});
    const auto compiled = compile(w, changed, {Search::kRoller}, 10, 1, [](std::size_t, std::size_t) {}, diags);
    const std::vector<Elasticity> rows = at(op, path);
    const auto e = std::find_if(rows.begin(), rows.end(),
                                [&](const Elasticity& r) { return base::to_json(r.change.changed) == value; });
    ASSERT_NE(e, rows.end()) << path;
    EXPECT_EQ(e->predicted_us, best_of(compiled.value().at(0)).prediction.predicted_us) << path;
  }
}

TEST(Explain, AFixedProgramIsNeverBetterThanTheBest) {
  for (const ExplainedOperator& op : {explained(workload(kExplained, "m=256,n=192,k=300")).at(0),
                                      explained(workload("O[i] max=! I[i,j]", "i=4096,j=1024")).at(0)}) {
    EXPECT_THAT(op.elasticities, Not(IsEmpty())) << op.id;
    for (const Elasticity& e : op.elasticities) {
      EXPECT_EQ(e.fixed_us.has_value(), e.elasticity_fixed.has_value()) << op.id << " " << e.change.path;
      EXPECT_GE(e.fixed_us.value_or(e.predicted_us), e.predicted_us - 1e-9) << op.id << " " << e.change.path;
    }
  }
}

// The best program has persistent blocks: a tenth more cores take a tenth more of them, and fewer rounds.
TEST(Explain, AFixedProgramHasPersistentBlocksForAllCores) {
  constexpr const char *kOp = "C[m,n] +=! A[m,k] * B[n,k]", *kSizes = "m=8192,n=8192,k=512";
  const Workload w = workload(kOp, kSizes, base::Dtype::kBf16);
  const tile::StageProgram p = construct(tests::expression(kOp, kSizes, {}, base::Dtype::kBf16), chip("h200"), {})
                                   .programs.at(0)
                                   .program.simt()[0];
  ASSERT_EQ(p.tile_loop.blocks, 132) << "the search finds no persistent blocks; the sizes need to change";
  const auto rounds = [&](double cores) { return std::ceil(static_cast<double>(p.blocks()) / cores); };
  const Elasticity more = at(explained(w, "h200").at(0), "core.count").at(0);
  const double fewer = std::log(rounds(144) / rounds(132)) / std::log(145.0 / 132);
  EXPECT_LT(fewer, -0.5);
  EXPECT_LT(more.elasticity_fixed.value(), fewer / 2);
}

TEST(Explain, ARefusedChangeBearsItsReason) {
  const ExplainedOperator op = explained(workload(kExplained, "m=256,n=256,k=256")).at(0);
  const auto why = [&](const std::string& path) {
    const auto found =
        std::find_if(op.refused.begin(), op.refused.end(), [&](const Refusal& r) { return r.change.path == path; });
    return found == op.refused.end() ? std::string("not refused") : found->why;
  };
  EXPECT_EQ(why("memory.l2.l2_partitions"), "memory.l2.l2_partitions: more than one partition needs remote_latency");
  EXPECT_EQ(why("memory.smem.per_block"), "memory.smem.per_block: 196608 B are more than the capacity of 98304 B");
  EXPECT_THAT(why("memory.dram.peak"), HasSubstr("990 GB/s is stated"));
  EXPECT_EQ(why("memory.dram.rate"), "not refused");
}

TEST(Explain, AProgramThatDoesNotFitTheChangedChipHasNoFixedElasticity) {
  const ExplainedOperator op =
      explained(workload("O[i] = A[i] + B[i]", "i=1048576"), "v100", 2, {{"core.max_block_threads", "64"}}).at(0);
  const std::vector<Elasticity> rows = at(op, "core.max_block_threads");
  EXPECT_TRUE(rows.at(0).elasticity_fixed);
  EXPECT_FALSE(rows.at(1).elasticity_fixed);
  EXPECT_GE(rows.at(1).predicted_us, op.prediction->predicted_us);
}

TEST(Explain, IsTheSameForAnyNumberOfJobs) {
  const Workload w = workload("O[i] +=! I[i,j]", "i=4096,j=1024");
  const std::string one = base::to_json(to_document(explained(w, "v100", 1)));
  EXPECT_EQ(base::to_json(to_document(explained(w, "v100", 2))), one);
  EXPECT_EQ(base::to_json(to_document(explained(w, "v100", 5))), one);
}

TEST(Explain, AnOperatorWithoutAProgramSaysWhy) {
  const std::string minimal = tests::source_path("tests/error/arch/minimal.yaml").string();
  const ExplainedOperator op = explained(workload(kExplained, "m=64,n=64,k=64", base::Dtype::kI8), minimal).at(0);
  EXPECT_FALSE(op.prediction);
  EXPECT_EQ(op.error, "minimal has no instruction that computes i8 into i32 one element at a time");
  EXPECT_THAT(op.elasticities, IsEmpty());
}

ExplainedOperator lasting(double us, std::optional<double> elasticity, std::optional<double> fixed) {
  ExplainedOperator op;
  op.prediction.emplace().predicted_us = us;
  if (elasticity) op.elasticities.push_back({{"clock", 1, 2}, *elasticity, fixed, us, fixed, us, "dram"});
  op.elasticities.push_back({{"launch_overhead", 1, 2}, 0.001, 0.001, us, us, us, "dram"});
  return op;
}

TEST(Explain, AProgramThatIsFasterHereTooIsTheSearchsLuck) {
  ExplainedOperator op = lasting(10, -1, -0.5);
  EXPECT_FALSE(is_luck(op.elasticities.at(0), op));
  op.elasticities.at(0).here_us = 9;
  EXPECT_TRUE(is_luck(op.elasticities.at(0), op));
  op.elasticities.at(0).here_us.reset();
  EXPECT_FALSE(is_luck(op.elasticities.at(0), op));
}

TEST(Explain, MeansAreWeightedWithTimes) {
  const std::vector<MeanElasticity> means =
      strongest_means({lasting(1, -1, -0.5), lasting(3, -0.2, {}), lasting(100, {}, {})});
  ASSERT_EQ(means.size(), 1U);
  EXPECT_EQ(means.front().change.path, "clock");
  EXPECT_DOUBLE_EQ(means.front().elasticity, -0.4);
  EXPECT_DOUBLE_EQ(means.front().elasticity_fixed.value(), -0.5);
}

}  // namespace
}  // namespace tilescope::api
