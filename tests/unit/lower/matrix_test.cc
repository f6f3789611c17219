// Matrix instructions: fragments as the PTX manual words them, programs against plain loops, mistakes that are planted
// and programs that are refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/matrix_layout.h"
#include "lower/print.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_matrix_program.h"

namespace tilescope::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// PTX ISA 8.5, 9.7.13.4: what it says of each shape, in its words.
TEST(MatrixLayout, IsThatOfThePtxManual) {
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    const std::int64_t group = lane / 4, thread_in_group = lane % 4;
    for (std::int64_t i = 0; i < 8; ++i) {  // m16n8k16 of 16 bits
      const bool upper = i < 2 || (4 <= i && i < 6);
      EXPECT_EQ(place_in_a(lane, i, 2),
                (MatrixPlace{upper ? group : group + 8, thread_in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)}));
    }
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(place_in_b(lane, i, 2), (MatrixPlace{thread_in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group}));
      EXPECT_EQ(place_in_d(lane, i), (MatrixPlace{i < 2 ? group : group + 8, thread_in_group * 2 + (i & 1)}));
    }
    for (std::int64_t i = 0; i < 4; ++i)  // m16n8k8 of .tf32
      EXPECT_EQ(place_in_a(lane, i, 4), (MatrixPlace{i == 0 || i == 2 ? group : group + 8,
                                                     i == 0 || i == 1 ? thread_in_group : thread_in_group + 4}));
    for (std::int64_t i = 0; i < 2; ++i)
      EXPECT_EQ(place_in_b(lane, i, 4), (MatrixPlace{thread_in_group + i * 4, group}));
    for (std::int64_t i = 0; i < 16; ++i) {  // m16n8k32 of 8 bits
      const bool upper = i < 4 || (8 <= i && i < 12);
      EXPECT_EQ(place_in_a(lane, i, 1),
                (MatrixPlace{upper ? group : group + 8, thread_in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)}));
    }
    for (std::int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(place_in_b(lane, i, 1), (MatrixPlace{thread_in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), group}));
  }
}

// PTX ISA 8.5, 9.7.15.5.1: "Register Fragments for wgmma.mma_async.m64nNk16", D.
TEST(MatrixLayout, OfAWarpGroupIsThatOfThePtxManual) {
  for (std::int64_t thread = 0; thread < 128; ++thread)
    for (std::int64_t i = 0; i < 128; ++i) {
      const std::int64_t warp = thread / 32, group = thread % 32 / 4, in_group = thread % 4;
      const std::int64_t row = 16 * warp + group + (i / 2 % 2 == 0 ? 0 : 8);
      EXPECT_EQ(place_in_d(thread, i), (MatrixPlace{row, 8 * (i / 4) + in_group * 2 + i % 2}));
    }
}

const arch::ArchSpec& h100() {
  static const arch::ArchSpec chip = tests::chip("h100_pcie");
  return chip;
}

const arch::ArchSpec& a100() {
  static const arch::ArchSpec chip = tests::chip("a100");
  return chip;
}

RC_GTEST_PROP(MatrixInstructions, AnyProgramComputesTheReference, ()) {
  const tile::RProgram p = tests::any_matrix_program(a100());
  std::vector<std::string> why;
  const auto m = lower(p, a100(), why);
  if (!m) {
    RC_ASSERT(why.front().find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::wrong_outputs(p, *m) == "");
}

// Matrices of every load, those transposed negative; 0 of a copy from the scratchpad element by element.
void add_loads(const Kernel& k, const std::vector<Statement>& body, std::vector<std::int64_t>& out) {
  for (const Statement& s : body) {
    if (const auto* loop = std::get_if<Loop>(&s.what)) add_loads(k, loop->body, out);
    if (const auto* l = std::get_if<LoadMatrices>(&s.what)) out.push_back(l->transposed ? -l->count : l->count);
    if (const auto* c = std::get_if<Copy>(&s.what))
      if (k.buffers[static_cast<std::size_t>(c->from.buffer)].space == Space::kShared) out.push_back(0);
  }
}

std::vector<std::int64_t> loads_of(const std::string& op, const std::string& dtype, const std::string& more = "") {
  const tile::RProgram p = tests::program(tests::matrix_product(op, dtype, more), a100());
  const Module m = tests::lowered(p, a100());
  EXPECT_EQ(tests::wrong_outputs(p, m), "") << op << more;
  std::vector<std::int64_t> out;
  add_loads(m.kernels.front(), m.kernels.front().body, out);
  return out;
}

TEST(MatrixInstructions, RowsAreReadAsTheyStandOrTransposed) {
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "f16"), ElementsAre(4, 4));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[k,n]", "bf16"), ElementsAre(4, -4));
  EXPECT_THAT(loads_of("C[m,n] +=! A[k,m] * B[k,n]", "f16"), ElementsAre(-4, -4));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "i8"), ElementsAre(4, 4));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "tf32"), ElementsAre(4, 4));
}

TEST(MatrixInstructions, WhatIsNotWholeRowsOfSixteenBytesIsReadByElements) {
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[k,n]", "i8"), ElementsAre(4, 0)) << "no transposing of bytes";
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[k,n]", "tf32"), ElementsAre(4, 0)) << "nor of four";
  EXPECT_THAT(loads_of("C[m,n] +=! A[k,m] * B[n,k]", "tf32", R"(,"padding":{"B":2})"), ElementsAre(0, 0));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "tf32", R"(,"padding":{"A":4},"swizzle":{"B":4})"),
              ElementsAre(4, 4));
  const char* op = "C[m,n] +=! A[m,k] * B[k,n]";
  EXPECT_THAT(loads_of(op, "f16", R"(,"padding":{"A":8,"B":4})"), ElementsAre(4, 0));
  EXPECT_THAT(loads_of(op, "f16", R"(,"swizzle":{"A":8,"B":8})"), ElementsAre(4, -4));
  EXPECT_THAT(loads_of(op, "f16", R"(,"swizzle":{"A":2})"), ElementsAre(0, -4));
}

TEST(MatrixInstructions, ABarrierLessIsFound) {
  const Module right =
      tests::lowered(tests::program(tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16"), a100()), a100());
  int barriers = 0;
  for (Module m = right; tests::remove<Barrier>(m.kernels[0], barriers); m = right, ++barriers)
    EXPECT_THROW(
        tests::wrong_outputs(tests::program(tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16"), a100()), m),
        KernelError)
        << barriers;
  EXPECT_EQ(barriers, 2);
}

TEST(MatrixInstructions, LanesThatReadOtherRowsThanTheirsAreFound) {
  const tile::RProgram p = tests::program(tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16"), a100());
  Module m = tests::lowered(p, a100());
  tests::each_body(m.kernels[0].body, [](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* l = std::get_if<LoadMatrices>(&s.what)) l->rows.when.push_back({{{{kThreadIndex, 1}}, 0}, 40});
  });
  EXPECT_THROW(tests::wrong_outputs(p, m), KernelError);
}

std::string refusal(const std::string& text, const arch::ArchSpec& chip) {
  std::vector<std::string> why;
  EXPECT_FALSE(lower(tests::program(text, chip), chip, why).has_value());
  return why.size() == 1 ? why.front() : testing::PrintToString(why);
}

TEST(MatrixInstructions, OthersAreRefusedWithThoseThatThereAre) {
  const arch::ArchSpec chip = tests::chip("v100");
  std::string name;
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.m == 16 && c.n == 16) name = c.name;
  const std::string why = refusal(tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16", "", name), chip);
  EXPECT_EQ(why, "instruction " + name +
                     ": fragments of 16x16x16 (f16 into f32) are not lowered; those of 16x8x8 (f16 into f32), 16x8x16 "
                     "(f16 into f32), 16x8x16 (bf16 into f32), 16x8x8 (tf32 into f32), 16x8x32 (i8 into i32) are");
}

TEST(MatrixInstructions, OperandsHaveToBeStaged) {
  EXPECT_EQ(refusal(tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16", R"(,"staged":{"A":"smem"})"), a100()),
            "instruction mma.f16: B is not staged");
}

// --- factors in the scratchpad

RC_GTEST_PROP(StagedFactors, AnyProgramComputesTheReference, ()) {
  const tile::RProgram p = tests::any_matrix_program(h100(), tests::Factors::kStaged);
  std::vector<std::string> why;
  const auto m = lower(p, h100(), why);
  if (!m) {
    RC_LOG() << why.front();
    RC_ASSERT(why.front().find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::wrong_outputs(p, *m) == "");
}

std::vector<MultiplyStaged> products_of(const Module& m) {
  std::vector<MultiplyStaged> out;
  Module copy = m;
  tests::each_body(copy.kernels[0].body, [&](std::vector<Statement>& body) {
    for (const Statement& s : body)
      if (const auto* one = std::get_if<MultiplyStaged>(&s.what)) out.push_back(*one);
  });
  return out;
}

Module staged(const std::string& op, const std::string& dtype, const std::string& more = "") {
  const tile::RProgram p = tests::program(tests::staged_product(op, dtype, more), h100());
  Module m = tests::lowered(p, h100());
  EXPECT_EQ(tests::wrong_outputs(p, m), "") << op << more;
  return m;
}

// Rows of 32 elements along k are four core matrices of 64 elements; rows of 64 along n are eight.
TEST(StagedFactors, AreReadAsTheirRowsRun) {
  const std::vector<MultiplyStaged> by_k = products_of(staged("C[m,n] +=! A[m,k] * B[n,k]", "f16"));
  ASSERT_EQ(by_k.size(), 1U) << "columns side by side are one instruction";
  EXPECT_EQ(by_k[0].shape, (MatrixShape{64, 64, 16}));
  for (const StagedFactor& f : {by_k[0].a, by_k[0].b}) {
    EXPECT_FALSE(f.transposed);
    EXPECT_EQ(f.along, 4 * 64);
    EXPECT_EQ(f.deep, 64);
  }
  const std::vector<MultiplyStaged> by_n =
      products_of(staged("C[m,n] +=! A[m,k] * B[k,n]", "bf16", R"(,"padding":{"A":4,"B":8})"));
  EXPECT_EQ(by_n[0].a.deep, 72) << "of 64 elements and 16 bytes more";
  EXPECT_EQ(by_n[0].a.along, 4 * 72);
  EXPECT_TRUE(by_n[0].b.transposed);
  EXPECT_EQ(by_n[0].b.along, 72);
  EXPECT_EQ(by_n[0].b.deep, 8 * 72);
}

TEST(StagedFactors, AreAnInstructionOfAsManyColumnsAsThereAreSideBySide) {
  const auto columns = [](const char* mapping, const char* n) {
    std::string text = tests::staged_product("C[m,n] +=! A[m,k] * B[n,k]", "f16");
    text.replace(text.find(R"("n":{"serial":64})"), 17, mapping);
    text.replace(text.find(R"("n":64,"k":32)"), 6, std::string(R"("n":)") + n);
    text.replace(text.find(R"("n":64,"k":128)"), 6, std::string(R"("n":)") + n);
    const tile::RProgram p = tests::program(text, h100());
    const Module m = tests::lowered(p, h100());
    EXPECT_EQ(tests::wrong_outputs(p, m), "");
    return products_of(m).at(0).shape.n;
  };
  EXPECT_EQ(columns(R"("n":{"serial":256})", "256"), 256);
  EXPECT_EQ(columns(R"("n":{"serial":320})", "320"), 160) << "halves of what is more than 256";
  EXPECT_EQ(columns(R"("n":{"serial":264})", "264"), 88);
  EXPECT_EQ(columns(R"("n":{"virtual":2,"serial":32})", "64"), 32);
}

TEST(StagedFactors, ABarrierLessIsFound) {
  for (const char* more : {"", R"(,"pipeline":3)"}) {
    const tile::RProgram p = tests::program(tests::staged_product("C[m,n] +=! A[m,k] * B[k,n]", "f16", more), h100());
    const Module right = tests::lowered(p, h100());
    int barriers = 0;
    for (Module m = right; tests::remove<Barrier>(m.kernels[0], barriers); m = right, ++barriers)
      EXPECT_THROW(tests::wrong_outputs(p, m), KernelError) << barriers;
    EXPECT_GE(barriers, 1);
  }
}

TEST(StagedFactors, WhatIsNotOrderedIsFound) {
  const tile::RProgram p =
      tests::program(tests::staged_product("C[m,n] +=! A[m,k] * B[k,n]", "f16", R"(,"pipeline":3)"), h100());
  const Module right = tests::lowered(p, h100());
  const auto without = [&]<class What>(What) {
    Module m = right;
    EXPECT_TRUE(tests::remove<What>(m.kernels[0], 0));
    try {
      tests::wrong_outputs(p, m);
      return std::string();
    } catch (const KernelError& e) {
      return std::string(e.what());
    }
  };
  EXPECT_THAT(without(Publish{}), HasSubstr("is read and was not published"));
  EXPECT_THAT(without(BeginProducts{}), HasSubstr("products that did not begin"));
  EXPECT_THAT(without(EndProducts{}), HasSubstr("products begin before others have ended"));
  EXPECT_THAT(without(Wait{}), HasSubstr("while a copy to it is under way"));
}

TEST(StagedFactors, OthersThanCoreMatricesAreRefused) {
  const auto error = [](const std::string& text) {
    base::Diagnostics diags;
    const auto document = base::read_json(text, diags.add_source("program"), diags);
    EXPECT_FALSE(tile::read_program(*document, h100(), diags).has_value());
    return diags.errors().empty() ? std::string() : diags.errors().front().text;
  };
  const char* op = "C[m,n] +=! A[m,k] * B[k,n]";
  EXPECT_THAT(error(tests::staged_product(op, "f16", R"(,"padding":{"A":1})")),
              HasSubstr("operand A: a padding of 1 elements does not put core matrices multiples of 16 B apart"));
  EXPECT_THAT(error(tests::staged_product(op, "f16", R"(,"swizzle":{"B":8})")),
              HasSubstr("operand B: core matrices are not swizzled"));
  EXPECT_THAT(error(tests::staged_product(op, "tf32")), HasSubstr("the factors' innermost dimensions are not"));
}

}  // namespace
}  // namespace tilescope::lower
