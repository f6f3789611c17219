// SPDX-License-Identifier: Apache-2.0
// Compiling operators: programs that read back with the time they were ranked by, the same for any number of jobs.

#include "api/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/predict.h"
#include "construct/search.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/support/workloads.h"

namespace tilescope::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using tests::v100;
using tests::workload;

constexpr const char* kMatmul = "C[m,n] +=! A[m,k] * B[k,n]";
constexpr const char* kSoftmax =
    "M[i] max=! I[i,j]; E[i,j] = exp(I[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]";

Workload suite(const std::string& name) {
  Workload w;
  w.suite = name;
  return w;
}

std::vector<CompiledOperator> compiled(const Workload& w, const arch::ArchSpec& a, const SearchOptions& search = {},
                                       std::size_t keep = 10, int jobs = 1) {
  base::Diagnostics diags;
  auto out = compile(w, a, search, keep, jobs, [](std::size_t, std::size_t) {}, diags);
  tests::require_no_errors(diags);
  return out.value();
}

// The document without the one figure that differs from run to run.
std::string text_without_clock(std::vector<CompiledOperator> operators) {
  for (CompiledOperator& op : operators) op.construct_ms = 0;
  return base::to_json(to_document(operators));
}

void expect_programs_read_back(const CompiledOperator& op, const arch::ArchSpec& a) {
  for (const CompiledProgram& c : op.programs) {
    base::Diagnostics diags;
    const auto p = predict_program({op.id, base::to_json(c.document)}, a, diags);
    EXPECT_THAT(diags.formatted_errors(), IsEmpty());
    ASSERT_TRUE(p.has_value()) << op.id;
    EXPECT_NEAR(p->predicted_us, c.prediction.predicted_us, 1e-9) << op.id;
    EXPECT_EQ(p->bottleneck, c.prediction.bottleneck) << op.id;
  }
}

TEST(Compile, IsTheSameForAnyNumberOfJobs) {
  for (const SearchOptions search : {SearchOptions{Search::kRoller}, SearchOptions{Search::kRollerOsdi22}}) {
    const std::string one = text_without_clock(compiled(suite("examples"), v100(), search, 3, 1));
    EXPECT_EQ(text_without_clock(compiled(suite("examples"), v100(), search, 3, 2)), one);
    EXPECT_EQ(text_without_clock(compiled(suite("examples"), v100(), search, 3, 5)), one);
  }
}

TEST(Compile, SearchesAreTheSameForAnyNumberOfJobs) {
  for (const Search search : {Search::kRandom, Search::kGenetic}) {
    const SearchOptions options{search, 40, 3};
    const std::string one = text_without_clock(compiled(suite("examples"), v100(), options, 3, 1));
    EXPECT_EQ(text_without_clock(compiled(suite("examples"), v100(), options, 3, 3)), one);
    EXPECT_NE(text_without_clock(compiled(suite("examples"), v100(), {search, 40, 4}, 3, 1)), one) << "another seed";
  }
}

TEST(Compile, SearchesKeepTheBestOfWhatTheyTried) {
  for (const Search search : {Search::kExhaustive, Search::kRandom, Search::kGenetic, Search::kAnneal}) {
    if (search == Search::kAnneal && !construct::why_no_annealing().empty()) continue;
    const auto op = compiled(workload("O[i] +=! I[i,j]", "i=1024,j=256"), v100(), {search, 300, 1}, 5).at(0);
    EXPECT_EQ(op.error, "") << name_of(search);
    ASSERT_THAT(op.programs, SizeIs(5)) << name_of(search);
    for (std::size_t r = 1; r < 5; ++r)
      EXPECT_LE(op.programs[r - 1].prediction.predicted_us, op.programs[r].prediction.predicted_us);
    expect_programs_read_back(op, v100());
  }
  const auto all = [](std::size_t budget) {
    return compiled(workload("O[i] +=! I[i,j]", "i=1024,j=256"), v100(), {Search::kRandom, budget, 1}, 1).at(0);
  };
  EXPECT_LE(best_of(all(300)).prediction.predicted_us, best_of(all(10)).prediction.predicted_us);
}

TEST(CompileErrors, AnExhaustiveSearchSaysWhatItWouldTake) {
  const auto op = compiled(workload(kMatmul, "m=512,n=512,k=512"), v100(), {Search::kExhaustive}).at(0);
  EXPECT_THAT(op.programs, IsEmpty());
  EXPECT_THAT(op.error, HasSubstr("aligned programs to try, and --budget allows 500: allow more, or choose another"));
}

TEST(Compile, KeepsAsManyAsAskedBestFirst) {
  for (const std::size_t keep : {1U, 4U, 10U}) {
    const auto op = compiled(workload(kMatmul, "m=512,n=512,k=512"), v100(), {Search::kRoller}, keep).at(0);
    ASSERT_THAT(op.programs, SizeIs(keep));
    for (std::size_t r = 1; r < keep; ++r)
      EXPECT_LE(op.programs[r - 1].prediction.predicted_us, op.programs[r].prediction.predicted_us);
  }
}

TEST(Compile, ProgramsReadBackToTheirPredictedTime) {
  for (const std::string chip : {"v100", "a100", "h100_pcie", "rtx2080ti", "k80", "mi50", "tilescope_one"})
    for (const CompiledOperator& op : compiled(suite("examples"), tests::chip(chip), {Search::kRoller}, 2)) {
      EXPECT_EQ(op.error, "") << op.id;
      EXPECT_FALSE(op.programs.empty()) << op.id;
      expect_programs_read_back(op, tests::chip(chip));
    }
}

TEST(Compile, ProgramsOfThePublishedSearchReadBackToo) {
  for (const CompiledOperator& op : compiled(suite("examples"), v100(), {Search::kRollerOsdi22}, 2))
    expect_programs_read_back(op, v100());
}

TEST(Compile, ReportsEveryOperatorOnceAsItIsDone) {
  base::Diagnostics diags;
  std::vector<std::size_t> seen;
  compile(
      suite("examples"), v100(), {Search::kRoller}, 1, 3,
      [&](std::size_t done, std::size_t all) {
        EXPECT_EQ(all, 11U);
        seen.push_back(done);
      },
      diags);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(CompileStages, PassTensorsThroughTheOutermostLevel) {
  Workload w = workload(kSoftmax, "i=256,j=128");
  w.fuse = base::Fuse::kNone;
  const auto op = compiled(w, v100(), {Search::kRoller}, 2).at(0);
  ASSERT_THAT(op.programs, SizeIs(2));
  EXPECT_EQ(op.programs[0].stages, 4U);
  const std::string text = base::to_json(op.programs[0].document);
  EXPECT_THAT(text, HasSubstr(R"("edges":[{"from":0,"to":1,"tensor":"M","level":"dram"},)"
                              R"({"from":1,"to":2,"tensor":"E","level":"dram"},)"
                              R"({"from":1,"to":3,"tensor":"E","level":"dram"},)"
                              R"({"from":2,"to":3,"tensor":"S","level":"dram"}])"));
  expect_programs_read_back(op, v100());
  EXPECT_FALSE(op.programs[0].prediction.band) << "several kinds were measured of none";
}

TEST(CompileStages, HaveOneEdgeForATensorThatIsReadTwice) {
  Workload w = workload("T[i] = I[i] * 2; O[i] = T[i] + T[i+1]", "i=64");
  w.fuse = base::Fuse::kNone;
  const auto op = compiled(w, v100()).at(0);
  ASSERT_FALSE(op.programs.empty());
  EXPECT_THAT(base::to_json(op.programs[0].document),
              HasSubstr(R"("edges":[{"from":0,"to":1,"tensor":"T","level":"dram"}])"));
}

TEST(CompileStages, ShareAKernelWhereThatIsFaster) {
  Workload w = workload(kSoftmax, "i=256,j=128");
  const CompiledOperator fused = compiled(w, v100()).at(0);
  EXPECT_THAT(fused.programs[0].edges, HasSubstr("in smem"));
  EXPECT_THAT(fused.programs[0].kernels, testing::Not(HasSubstr(", "))) << "one kernel";
  expect_programs_read_back(fused, v100());
  w.fuse = base::Fuse::kInline;
  const CompiledOperator inlined = compiled(w, v100()).at(0);
  EXPECT_THAT(inlined.programs[0].edges, testing::Not(HasSubstr("in smem")));
  EXPECT_EQ(inlined.programs[0].stages, 3U) << "exp is in the bodies of its readers";
  w.fuse = base::Fuse::kNone;
  const CompiledOperator apart = compiled(w, v100()).at(0);
  EXPECT_LT(fused.programs[0].prediction.predicted_us, inlined.programs[0].prediction.predicted_us);
  EXPECT_LT(inlined.programs[0].prediction.predicted_us, apart.programs[0].prediction.predicted_us);
}

TEST(CompileStages, NeverGetSlowerWithRank) {
  const auto op = compiled(workload(kSoftmax, "i=1024,j=1024"), v100()).at(0);
  for (std::size_t r = 1; r < op.programs.size(); ++r)
    EXPECT_LE(op.programs[r - 1].prediction.predicted_us, op.programs[r].prediction.predicted_us);
}

TEST(CompileErrors, NoInstructionForTheDtype) {
  const arch::ArchSpec minimal = tests::chip(tests::source_path("tests/error/arch/minimal.yaml").string());
  const auto op = compiled(workload(kMatmul, "m=64,n=64,k=64", base::Dtype::kI8), minimal).at(0);
  EXPECT_THAT(op.programs, IsEmpty());
  EXPECT_EQ(op.error, "minimal has no instruction that computes i8 into i32 one element at a time");
  EXPECT_THAT(base::to_json(to_document({op})), HasSubstr(R"("programs":[],"error":"minimal has no)"));
}

TEST(CompileErrors, NoConstantsForThePublishedSearch) {
  const arch::ArchSpec minimal = tests::chip(tests::source_path("tests/error/arch/minimal.yaml").string());
  const auto op = compiled(workload(kMatmul, "m=64,n=64,k=64"), minimal, {Search::kRollerOsdi22}).at(0);
  EXPECT_THAT(op.programs, IsEmpty());
  EXPECT_EQ(op.error, "minimal has no baselines.roller-osdi22");
  const auto listed = compiled(workload(kMatmul, "m=64,n=64,k=64"), minimal, {Search::kWelderOpen}).at(0);
  EXPECT_EQ(listed.error, "minimal has no baselines.welder-open");
  EXPECT_TRUE(listed.programs.empty());
}

TEST(Compile, ThePublishedSearchLogsItsRounds) {
  const auto op = compiled(workload(kMatmul, "m=4096,n=4096,k=4096"), v100(), {Search::kRollerOsdi22}).at(0);
  ASSERT_FALSE(op.rounds.empty());
  EXPECT_THAT(base::to_json(to_document({op})), HasSubstr(R"("rounds":[[)"));
  EXPECT_THAT(compiled(workload(kMatmul, "m=64,n=64,k=64"), v100()).at(0).rounds, IsEmpty());
}

TEST(Compile, SaysWhichLimitNoProgramKeeps) {
  EXPECT_EQ(compiled(workload("B[i] = A[i]", "i=4000000000"), v100()).at(0).error,
            "no program fits v100: bytes of all tensors: needs 32000000000 B, v100 has 17179869184 B "
            "(memory.dram.capacity)");
}

// Chips with ever less of something: what has no program says of what there is too little.
TEST(Compile, SaysWhatAStarvedChipLacks) {
  const std::pair<const char*, const char*> starved[] = {{"memory.reg.capacity", "registers a thread: needs 8, "},
                                                         {"memory.dram.capacity", "bytes of all tensors: needs "}};
  for (const auto& [path, why] : starved) {
    std::size_t without = 0;
    for (std::int64_t bytes = 1 << 20; bytes >= 512; bytes /= 2) {
      base::Diagnostics diags;
      const auto chip = arch::load_arch("v100", {{path, std::to_string(bytes) + " B"}}, diags);
      if (!chip) continue;
      const auto op = compiled(workload(kMatmul, "m=64,n=64,k=64"), *chip).at(0);
      EXPECT_EQ(op.programs.empty(), !op.error.empty());
      if (!op.programs.empty()) continue;
      ++without;
      EXPECT_THAT(op.error, StartsWith("no program fits v100: " + std::string(why))) << bytes;
    }
    EXPECT_GT(without, 0U) << path;
  }
}

TEST(Compile, NotesAReadThatIsNotAffine) {
  base::Diagnostics diags;
  EXPECT_TRUE(
      compile(
          workload("B[i] = A[i/2]", "i=64"), v100(), {Search::kRoller}, 1, 1, [](std::size_t, std::size_t) {}, diags)
          .has_value());
  ASSERT_THAT(diags.notes(), SizeIs(1));
  EXPECT_EQ(diags.format(diags.notes()[0]), "--op:1:1: the read A[i/2] is not affine; a tile takes its full extent");
}

std::vector<std::string> errors_of(const Workload& w) {
  base::Diagnostics compiling, checking;
  EXPECT_FALSE(compile(w, v100(), {Search::kRoller}, 1, 1, [](std::size_t, std::size_t) {}, compiling).has_value());
  check(w, checking);
  EXPECT_EQ(checking.formatted_errors(), compiling.formatted_errors());
  return compiling.formatted_errors();
}

TEST(CompileErrors, OfTheWorkloadBearTheOptionsName) {
  EXPECT_THAT(
      errors_of(suite("rollr")),
      ElementsAre("--suite: unknown suite 'rollr', expected one of roller, roller-scaleout, roller-small, "
                  "roller-irregular, roller-tensorcore, examples, searches, transformer_layer, fused, or a file "
                  "FILE.yaml; did you mean 'roller'?"));
  EXPECT_THAT(errors_of(workload(kMatmul, "m=64,n=64")),
              ElementsAre("--op:1:16: axis 'k' has no size; give --size k=..."));
  Workload several = workload("C[m,n] + A[m,k]", "m=1,n=x");
  several.shapes = "A=x,1";
  EXPECT_THAT(
      errors_of(several),
      ElementsAre("--op:1:8: expected '=' or a reducer such as '+=!' after 'C[...]', got '+'",
                  "--size:1:7: expected a whole number as the size of 'n', got 'x'", HasSubstr("--shape:1:3: ")));
}

TEST(SearchOf, KnowsItsNames) {
  base::Diagnostics diags;
  EXPECT_EQ(search_of("roller", diags), Search::kRoller);
  EXPECT_EQ(search_of("roller-osdi22", diags), Search::kRollerOsdi22);
  EXPECT_TRUE(diags.ok());
  EXPECT_EQ(search_of("roller-osdi2", diags), std::nullopt);
  EXPECT_EQ(search_of("", diags), std::nullopt);
  EXPECT_THAT(diags.formatted_errors(), ElementsAre("--search: expected one of roller, roller-osdi22, welder-open, "
                                                    "partition, exhaustive, random, genetic, anneal, got "
                                                    "'roller-osdi2'; did you mean 'roller-osdi22'?",
                                                    "--search: expected one of roller, roller-osdi22, welder-open, "
                                                    "partition, exhaustive, random, genetic, anneal, got ''"));
}

}  // namespace
}  // namespace tilescope::api
