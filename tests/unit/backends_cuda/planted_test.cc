// SPDX-License-Identifier: Apache-2.0
// Mistakes planted in kernels that are right: the runtime has to find each, in one of its two builds or by the values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/emit.h"
#include "backends/cuda/host_run.h"
#include "tests/support/lowered.h"
#include "tests/support/small_group.h"
#include "tests/unit/backends_cuda/samples_on_the_cpu.h"

namespace tilescope::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::kernel;
using tests::Sample;

class Planted : public tests::SamplesOnTheCpu {
 protected:
  Planted() : SamplesOnTheCpu("v100") {}
};

TEST_F(Planted, WhatIsRightIsFoundRight) {
  for (const Sample& s : {tests::matmul_sample("matmul", {}), tests::pipeline_sample(3)}) {
    EXPECT_EQ(found_by_values(s), 0);
    EXPECT_EQ(counting_error(s), "");
  }
}

TEST_F(Planted, EachBarrierOfAMatmulIsMissed) {
  for (const bool asynchronous : {false, true})
    for (const int barrier : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "asynchronous " << asynchronous << ", without barrier " << barrier);
      Sample s = tests::matmul_sample("matmul", {32, 32, 32, 4, 4, asynchronous});
      ASSERT_TRUE(tests::remove<lower::Barrier>(kernel(s), barrier));
      EXPECT_GE(found_by_values(s), 9);
      EXPECT_THAT(counting_error(s), testing::AnyOf(HasSubstr("race: "), HasSubstr("which no thread wrote")));
    }
}

TEST_F(Planted, TheBarrierOfATransposeIsMissed) {
  Sample s = tests::transpose_sample("transpose", 1);
  ASSERT_TRUE(tests::remove<lower::Barrier>(kernel(s), 0));
  EXPECT_EQ(found_by_values(s), 10);
  EXPECT_THAT(counting_error(s), AllOf(HasSubstr("seed 1: transpose: block 0, thread "), HasSubstr("shared memory")));
}

TEST_F(Planted, LanesOfAWarpThatPartWaysAreFound) {
  Sample s = tests::matrices_sample();
  tests::Body& body = kernel(s).body;
  const auto multiply = std::find_if(body.begin(), body.end(), [](const lower::Statement& one) {
    return std::holds_alternative<lower::Mma>(one.what);
  });
  ASSERT_NE(multiply, body.end());
  tests::Body inside = {*multiply};
  *multiply = {lower::If{{{lower::Affine{{{lower::kThreadIndex, 1}}, 0}, 40}}, std::move(inside)}, {}};
  for (const HostBuild build : {HostBuild::kValues, HostBuild::kCounting})
    EXPECT_THAT(run(s, build, 1).error, HasSubstr("divergent warp: "));
}

TEST_F(Planted, AMissingBarrierBeforeMatricesIsFound) {
  Sample s = tests::matrices_sample();
  ASSERT_TRUE(tests::remove<lower::Barrier>(kernel(s), 0));
  EXPECT_THAT(counting_error(s), testing::AnyOf(HasSubstr("race: "), HasSubstr("which no thread wrote")));
}

TEST_F(Planted, AMissingBarrierBeforeStagedFactorsIsFound) {
  Sample s = tests::staged_sample("C[m,n] +=! A[m,k] * B[n,k]", "f16", R"(,"num_stages":3)");
  ASSERT_TRUE(tests::remove<lower::Barrier>(kernel(s), 0));
  EXPECT_THAT(counting_error(s), testing::AnyOf(HasSubstr("race: "), HasSubstr("which no thread wrote"),
                                                HasSubstr("an asynchronous copy of thread ")));
}

TEST_F(Planted, FactorsThatLieElsewhereAreFound) {
  Sample s = tests::staged_sample("C[m,n] +=! A[m,k] * B[n,k]", "f16");
  tests::each_body(kernel(s).body, [](tests::Body& body) {
    for (lower::Statement& one : body)
      if (auto* m = std::get_if<lower::Wgmma>(&one.what)) std::swap(m->b.along, m->b.deep);
  });
  EXPECT_EQ(found_by_values(s), 10);
}

TEST_F(Planted, AMissingWaitIsMissed) {
  Sample s = tests::matmul_sample("matmul", {32, 32, 32, 4, 4, true});
  ASSERT_TRUE(tests::remove<lower::Wait>(kernel(s), 0));
  EXPECT_EQ(found_by_values(s), 10);
  EXPECT_THAT(counting_error(s), HasSubstr("an asynchronous copy of thread "));
}

TEST_F(Planted, AWaitForOneGroupTooFewIsFound) {
  Sample s = tests::pipeline_sample(3);
  tests::each_body(kernel(s).body, [](tests::Body& body) {
    for (lower::Statement& one : body)
      if (auto* wait = std::get_if<lower::Wait>(&one.what)) ++wait->pending;
  });
  EXPECT_EQ(found_by_values(s), 10);
  EXPECT_THAT(counting_error(s), HasSubstr("into which an asynchronous copy of thread "));
}

TEST_F(Planted, AMissingCommitIsFound) {
  Sample s = tests::matmul_sample("matmul", {32, 32, 32, 4, 4, true});
  ASSERT_TRUE(tests::remove<lower::Commit>(kernel(s), 0));
  EXPECT_EQ(found_by_values(s), 10);
}

TEST_F(Planted, ACopyOfAPipelineThatIsIssuedTooEarlyIsFound) {
  Sample s = tests::pipeline_sample(2);  // the barrier separates the last reads from the next copy
  ASSERT_TRUE(tests::remove<lower::Barrier>(kernel(s), 0));
  EXPECT_GE(found_by_values(s), 9);
  EXPECT_THAT(counting_error(s), testing::AnyOf(HasSubstr("race"), HasSubstr("asynchronous copy"),
                                                HasSubstr("no thread"), HasSubstr("no warp")));
}

TEST_F(Planted, AReadBoundOneTooHighReadsOutsideTheArray) {
  Sample s = tests::strided_sample();
  lower::Guard& guard = tests::copy_of(kernel(s), 0).inside.at(0);
  guard.bound += 3;  // the next element that is read
  const HostResult r = run(s, HostBuild::kValues, 1);
  EXPECT_THAT(r.error, AllOf(HasSubstr("AddressSanitizer: heap-buffer-overflow"), HasSubstr("kernels.cu:")));
  EXPECT_THAT(counting_error(s), HasSubstr("outside every array"));
}

TEST_F(Planted, AWriteBoundOneTooHighWritesOutsideTheArray) {
  Sample s = tests::strided_sample();
  tests::copy_of(kernel(s), 1).when.at(0).bound += 1;
  EXPECT_THAT(run(s, HostBuild::kValues, 1).error, HasSubstr("heap-buffer-overflow"));
  EXPECT_THAT(counting_error(s), HasSubstr("outside every array"));
}

TEST_F(Planted, AnAsynchronousReadOutsideTheArrayNamesItsLine) {
  Sample s = tests::pipeline_sample(2);
  tests::copy_of(kernel(s), 1).when.clear();
  EXPECT_THAT(run(s, HostBuild::kValues, 1).error, AllOf(HasSubstr("heap-buffer-overflow"), HasSubstr("kernels.cu:")));
}

TEST_F(Planted, AMissingGuardOfAMatmulIsFound) {
  for (const std::size_t n : {1, 3, 6}) {
    SCOPED_TRACE(n);
    Sample s = tests::matmul_sample("matmul", {37, 20, 12, 4, 4, false});
    lower::Copy& copy = tests::copy_of(kernel(s), n);
    ASSERT_FALSE(copy.when.empty());
    copy.when.pop_back();
    EXPECT_TRUE(!counting_error(s).empty() || found_by_values(s) == 10);
  }
}

TEST_F(Planted, AnIfThatIsOffByOneStoresTooLittleOrTwice) {
  // Each `If` stores the sums of one part; the second one's guard ends where the parts do.
  for (const auto& [branch, off] : {std::pair(0, -1), std::pair(0, 1), std::pair(1, -1)}) {
    SCOPED_TRACE(testing::Message() << "if " << branch << " off by " << off);
    Sample s = tests::two_kernels_sample();
    tests::if_guards(kernel(s)).at(static_cast<std::size_t>(branch))->bound += off;
    EXPECT_NE(counting_error(s), "");
  }
}

TEST_F(Planted, AnIfThatFetchesOneStepTooFewIsFound) {
  arch::ArchSpec chip = tests::chip("v100");
  for (const bool asynchronous : {false, true}) {
    if (asynchronous) chip.core.async_copy = base::Bytes{4};
    const Sample right = tests::lowered_sample(tests::program(tests::small_matmul(R"(,"num_stages":3)"), chip), chip);
    EXPECT_EQ(counting_error(right), "");
    Sample s = right;
    const std::size_t guards = tests::if_guards(kernel(s)).size();
    EXPECT_EQ(guards, asynchronous ? 1U : 2U);
    for (std::size_t g = 0; g < guards; ++g) {
      SCOPED_TRACE(testing::Message() << "guard " << g << ", asynchronous " << asynchronous);
      s = right;
      --tests::if_guards(kernel(s))[g]->bound;
      EXPECT_EQ(found_by_values(s), 10);
    }
  }
}

TEST_F(Planted, MistakesBetweenStagesOfAKernelAreFound) {
  const arch::ArchSpec chip = tests::chip("v100");
  const Sample right = tests::lowered_sample(tests::program(tests::small_group(), chip), chip);
  EXPECT_EQ(found_by_values(right), 0);
  EXPECT_EQ(counting_error(right), "");
  for (const tests::GroupFault& fault : tests::group_faults()) {
    Sample s = right;
    fault.plant(kernel(s));
    EXPECT_TRUE(!counting_error(s).empty() || found_by_values(s) == 10) << fault.what;
  }
}

TEST_F(Planted, AScratchpadOneElementTooSmallIsFound) {
  Sample s = tests::transpose_sample("transpose", 1);
  kernel(s).shared_bytes = 31 * 33 * 4;
  EXPECT_THAT(run(s, HostBuild::kValues, 1).error, HasSubstr("heap-buffer-overflow"));
  EXPECT_THAT(counting_error(s), HasSubstr("outside every array"));
}

TEST_F(Planted, RowsThatOverlapRace) {
  Sample s = tests::transpose_sample("transpose", -1);  // rows of 31 elements
  EXPECT_EQ(found_by_values(s), 10);
  EXPECT_THAT(counting_error(s), HasSubstr("race: writes element"));
}

TEST_F(Planted, RegistersThatNobodyWroteAreNotZero) {
  Sample s = tests::matmul_sample("matmul", {});
  kernel(s).body.erase(kernel(s).body.begin());  // the zeros of the sums
  EXPECT_EQ(found_by_values(s), 10);
}

TEST_F(Planted, AnOutputThatIsNotWritten) {
  Sample s = tests::strided_sample();
  tests::copy_of(kernel(s), 1).when.at(0).bound -= 1;
  EXPECT_THAT(counting_error(s), HasSubstr("element 199 of O was never written"));
}

TEST_F(Planted, TwoBlocksThatWriteOneElement) {
  Sample s = tests::strided_sample();
  for (lower::AffineTerm& t : tests::copy_of(kernel(s), 1).to.offset.terms)
    if (t.index == lower::kBlockIndex) t.coefficient = 47;
  EXPECT_THAT(counting_error(s), HasSubstr("of O, which thread"));
}

TEST_F(Planted, ABarrierThatSomeThreadsMiss) {
  tests::KernelMaker k("divergent", 1, 64);
  const int out = k.global("O", 64, lower::Role::kOutput);
  const int r = k.registers("value", 1);
  tests::Body barrier, body;
  body.push_back(tests::compute({r, {}}, expr::Reducer::kNone, {tests::number(1)}, {}));
  body.push_back(tests::copy(out, k.thread(), r, {}));
  barrier.push_back({lower::Barrier{}, {}});
  body.push_back({lower::If{{{k.thread(), 60}}, std::move(barrier)}, {}});
  const Sample s{"divergent", k.finish(std::move(body)), {}, {{}}, {}};
  for (const HostBuild build : {HostBuild::kValues, HostBuild::kCounting})
    EXPECT_THAT(run(s, build, 1).error, HasSubstr("divergent barrier: has ended while thread 0 waits at line"));
}

TEST_F(Planted, ACopyThatOnlySomeThreadsReach) {
  tests::KernelMaker k("divergent", 1, 64);
  const int out = k.global("O", 64, lower::Role::kOutput);
  const int r = k.registers("value", 1);
  tests::Body store, body;
  store.push_back(tests::copy(out, k.thread(), r, {}));
  body.push_back(tests::compute({r, {}}, expr::Reducer::kNone, {tests::number(1)}, {}));
  body.push_back({lower::If{{{k.thread(), 60}}, std::move(store)}, {}});
  const Sample s{"divergent", k.finish(std::move(body)), {}, {{}}, {}};
  EXPECT_THAT(counting_error(s), HasSubstr("threads of the block come here different numbers of times"));
}

TEST_F(Planted, AnUnalignedVector) {
  Sample s = tests::vector_sample(base::Dtype::kF32, 4);
  tests::copy_of(kernel(s), 0).from.offset.constant += 2;
  for (const HostBuild build : {HostBuild::kValues, HostBuild::kCounting})
    EXPECT_THAT(run(s, build, 1).error, HasSubstr("an access of 16 bytes at an address that is no multiple of 16"));
}

TEST_F(Planted, ErrorsNameTheLineOfTheText) {
  Sample s = tests::strided_sample();
  tests::copy_of(kernel(s), 1).when.at(0).bound += 1;
  const Emitted text = emit(s.module);
  EXPECT_THAT(counting_error(s), HasSubstr("line " + std::to_string(text.kernels[0].copy_lines[1]) + ": "));
}

}  // namespace
}  // namespace tilescope::cuda
