// SPDX-License-Identifier: Apache-2.0
// Instructions beside a kernel's statements, by hand.

#include "sim/gpu/detail/address_code.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

struct CodeCounts {
  OverheadInstructions kernel, loop;
};

CodeCounts code_counts(const lower::Module& m, const AddressCode::Target& target = {}) {
  const lower::Kernel& k = m.kernels.front();
  const AddressCode code(k, target);
  CodeCounts out{code.of(nullptr), {}};
  for (const Statement& s : k.body)
    if (const auto* l = std::get_if<lower::Loop>(&s.what)) out.loop = code.of(l);
  return out;
}

void expect(const OverheadInstructions& issued, double integer, double predicate, double control) {
  EXPECT_EQ(issued.integer, integer);
  EXPECT_EQ(issued.predicate, predicate);
  EXPECT_EQ(issued.control, control);
}

// r <- A[64 block + thread + 32 i], i below 8, `unroll` of them in a body.
lower::Module strided(std::int64_t unroll) {
  HandKernel k(4, 32);
  const int a = k.global("A", 4 * 64 + 8 * 32), r = k.registers("r", 1), i = k.loop("i", 8);
  k.add(loop_over(i, {copy({r, {}}, {a, affine({{0, 64}, {1, 1}, {i, 32}})})}, unroll));
  return std::move(k).take();
}

TEST(AddressCode, ComputesBeforeALoopWhatDoesNotChangeInIt) {
  const CodeCounts c = code_counts(strided(1));
  expect(c.kernel, 1, 0, 0);  // 64 block + thread
  expect(c.loop, 3, 1, 1);    // + 32 i, its widening, the counter; the comparison; the branch
}

TEST(AddressCode, OfAnUnrolledLoopSharesOneAddress) {
  expect(code_counts(strided(8)).kernel, 2, 0, 0);
  expect(code_counts(strided(2)).loop, 1.5, 0.5, 0.5);  // of two iterations: a counter, a sum and a widening
}

TEST(AddressCode, DividesByPowersOfTwoInOneInstruction) {
  const auto integer = [](std::int64_t divisor, std::int64_t modulus) {
    HandKernel k(1, 96);
    const int d = k.derived("d", affine({{1, 1}}), divisor, modulus);
    const int a = k.global("A", 96 * 100), r = k.registers("r", 1);
    k.add(copy({r, {}}, {a, affine({{d, 100}})}));
    return code_counts(std::move(k).take()).kernel.integer;
  };
  EXPECT_EQ(integer(32, 0), 1 + 2) << "the division; times 100, and its widening";
  EXPECT_EQ(integer(3, 0), 2 + 2);
  EXPECT_EQ(integer(3, 4), 3 + 2) << "and what is left of it";
}

// An offset of 32 bits is computed once, and added to the pointer of 64.
TEST(AddressCode, AddsToPointersInAsManyInstructionsAsTheTargetTakes) {
  expect(code_counts(strided(8), {.predicates = std::nullopt, .address = 3}).kernel, 4, 0, 0);
  expect(code_counts(strided(2), {.predicates = std::nullopt, .address = 3}).loop, 2.5, 0.5, 0.5);
}

// Arrays of the scratchpad lie a constant apart: one place serves both.
TEST(AddressCode, SharesPlacesInTheScratchpad) {
  HandKernel k(1, 32);
  const int x = k.shared("x", 64), y = k.shared("y", 64), r = k.registers("r", 2);
  k.add(copy({r, {}}, {x, affine({{1, 1}})}));
  k.add(copy({r, affine({}, 1)}, {y, affine({{1, 1}}, 32)}));
  expect(code_counts(std::move(k).take()).kernel, 2, 0, 0);
}

TEST(AddressCode, SetsPredicatesAgainWhereThereAreTooFew) {
  HandKernel k(1, 64);
  const int a = k.global("A", 64 * 4), r = k.registers("r", 1), i = k.loop("i", 8), j = k.loop("j", 4);
  const Guard inside{affine({{1, 1}, {j, 16}}), 50};
  k.add(loop_over(i, {loop_over(j, {copy({r, {}}, {a, affine({{1, 1}, {j, 64}})}, 1, {}, {inside})}, 4)}, 1));
  const lower::Module m = std::move(k).take();
  expect(code_counts(m).loop, 1, 1, 1);
  expect(code_counts(m).kernel, 1, 4, 0);
  expect(code_counts(m, {.predicates = 4}).loop, 1, 1, 1);
  expect(code_counts(m, {.predicates = 3}).loop, 1, 5, 1);
  expect(code_counts(m, {.predicates = 3}).kernel, 1, 0, 0);
}

}  // namespace
}  // namespace tilescope::sim
