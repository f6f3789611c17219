// SPDX-License-Identifier: Apache-2.0
// Programs as the chip's compiler takes them; skipped where there is no NVRTC.

#include "api/code.h"

#include <gtest/gtest.h>

#include "tests/support/lowered.h"
#include "tile/transfer/results.h"

namespace tilescope::api {
namespace {

// 32 results a thread do not fit the registers that the program states.
TEST(ProgramCode, AKernelThatSpillsGetsMoreRegisters) {
  const cuda::DeviceCompiler compiler;
  if (!compiler.why_unsupported().empty()) GTEST_SKIP() << compiler.why_unsupported();
  const arch::ArchSpec chip = tests::chip("v100", {{"target", "sm_80"}});
  const tile::RProgram p = tests::program(tests::small_matmul(R"(,"registers":24)"), chip);
  base::Diagnostics diags;
  const cuda::DeviceCode held = compiler.compile(cuda::emit(tests::lowered(p, chip)).text, *chip.target);
  ASSERT_TRUE(held.ok()) << held.error;
  ASSERT_GT(held.kernels.at(0).spill_store_bytes, 0);
  const auto code = code_of(p, chip, compiler, diags, {});
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->usage.spill_bytes(), 0);
  EXPECT_GT(code->usage.registers(), 24);
  EXPECT_LE(code->usage.registers(), 24 + 32) << "no more than it takes to spill nothing";
}

// Results of multiply-adds of threads, and of instructions: the text has the words for stores of boxes with either.
TEST(ProgramCode, StoresOfBoxesAreCompiled) {
  const cuda::DeviceCompiler compiler;
  if (!compiler.why_unsupported().empty()) GTEST_SKIP() << compiler.why_unsupported();
  const arch::ArchSpec chip = tests::chip("h200");
  tile::RProgram p = tests::program(tests::small_matmul(""), chip);
  const auto stored = tile::with_tma_stores(p.simt()[0], {64}, chip);
  ASSERT_TRUE(stored.has_value());
  p.simt()[0] = *stored;
  const cuda::DeviceCode code = compiler.compile(cuda::emit(tests::lowered(p, chip)).text, *chip.target);
  EXPECT_TRUE(code.ok()) << code.error;
}

}  // namespace
}  // namespace tilescope::api
