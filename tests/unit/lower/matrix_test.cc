// SPDX-License-Identifier: Apache-2.0
// Matrix instructions: programs against plain loops, on chips that do not exist too, mistakes that are planted and
// programs that are refused.

#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "base/document.h"
#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_instruction.h"
#include "tests/support/random_matrix_program.h"
#include "tile/program_json.h"

namespace tilescope::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::a100;
using tests::h100;

RC_GTEST_PROP(MatrixInstructions, AnyProgramComputesTheReference, ()) {
  const tile::RProgram p = tests::any_matrix_program(a100());
  base::Diagnostics diags;
  const auto m = lower(p, a100(), diags);
  if (!m) {
    RC_ASSERT(diags.errors().front().text.find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::wrong_outputs(p, *m) == "");
}

// By any instruction, of any number of lanes, that loads rows or does not.
RC_GTEST_PROP(MatrixInstructions, OfAnyMapsComputeTheReference, ()) {
  const arch::ArchSpec chip = tests::any_matrix_chip(a100());
  RC_LOG() << "warp " << chip.core.warp << ", " << tests::words_of(chip.compute.back()) << '\n';
  const tile::RProgram p = tests::any_matrix_program(chip);
  base::Diagnostics diags;
  const auto m = lower(p, chip, diags);
  if (!m) {
    RC_ASSERT(diags.errors().front().text.find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::interpreter_result(p, *m) == "");
}

void compute_with_epilogues(const arch::ArchSpec& chip) {
  const tile::RProgram p = tests::with_any_epilogues(tests::any_matrix_program(chip), chip);
  RC_LOG() << base::to_json(tile::to_document(p, chip)) << '\n';
  base::Diagnostics diags;
  const auto m = lower(p, chip, diags);
  if (!m) {
    RC_LOG() << diags.sentences().front();
    RC_ASSERT(diags.errors().front().text.find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_ASSERT(m->kernels.size() == 1u);
  RC_LOG() << print(*m);
  RC_ASSERT(tests::interpreter_result(p, *m) == "");
}

RC_GTEST_PROP(Epilogues, OfMatrixInstructionsComputeTheReference, ()) { compute_with_epilogues(a100()); }

RC_GTEST_PROP(Epilogues, OfAnyMapsComputeTheReference, ()) {
  const arch::ArchSpec chip = tests::any_matrix_chip(a100());
  RC_LOG() << "warp " << chip.core.warp << ", " << tests::words_of(chip.compute.back()) << '\n';
  compute_with_epilogues(chip);
}

// A product by an instruction of which one factor was left in the scratchpad by threads' multiply-adds.
tile::RProgram any_product_of_kept(const arch::ArchSpec& chip) {
  using tests::any_element;
  using tests::any_of_range;
  std::vector<const arch::ComputeSpec*> instructions;
  for (const arch::ComputeSpec& c : chip.compute)
    if (tile::matrix_refusal(c).empty() && !c.operands && !base::is_integer(c.dtype)) instructions.push_back(&c);
  if (instructions.empty()) RC_DISCARD("sums of another type");
  const arch::ComputeSpec& c = *any_element(instructions);
  const std::int64_t steps = any_of_range(1, 4), fragments = any_of_range(1, 3);
  const std::string op = any_element<std::string>({"O[m,j] +=! T[m,n] * C[n,j]", "O[m,j] +=! T[m,n] * C[j,n]",
                                                   "O[j,m] +=! C[j,n] * T[m,n]", "O[j,m] +=! C[n,j] * T[m,n]"});
  const expr::Expression e =
      tests::expression("T[m,n] +=! A[m,k] * B[k,n]; " + op,
                        fmt::format("m={},n={},k={},j={}", any_of_range(1, 60), c.k * steps * fragments,
                                    any_of_range(1, 4), any_of_range(1, 60)),
                        {}, c.dtype);
  if (e.tensors[static_cast<std::size_t>(e.stages[0].output)].dtype != c.dtype) RC_DISCARD("sums of another type");
  const auto space = [&](std::size_t s) {
    const expr::Expression one = expr::single_stage(e, s);
    return tile::make_space(one, tile::no_collapse(one.stages.front()));
  };
  const auto product = space(1);
  const tile::MatrixUnit axes = *tests::any_matrix_axes(*product);
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < 2; ++a)
    mapping.push_back({any_element<std::int64_t>({1, 1, 2}), any_element<std::int64_t>({1, 2}),
                       (a == axes.rows ? c.m : c.n) * any_element<std::int64_t>({1, 1, 2})});
  tile::StageProgram reads =
      tile::with_micro_kernel(tile::make_stage_program(product, mapping, {1, 1, c.k * fragments}, {16}),
                              tile::micro_kernel_of(c, chip, axes), {16});
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const bool kept = product->inputs[i].name == "T";
    reads.operands[i] = {!kept, kept ? 0 : any_element<std::int64_t>({0, 8, 3}), 1};
    if (kept) rows = reads.block[static_cast<std::size_t>(product->inputs[i].dims[0].terms[0].axis)];
  }
  reads.num_stages = any_of_range(1, 3);
  const std::int64_t threads = reads.threads();
  const std::int64_t columns = (c.k * steps * fragments + threads - 1) / threads;
  tile::StageProgram writes =
      tile::make_stage_program(space(0), {{1, 1, rows}, {1, threads, columns}}, {1, 1, 1}, {16});
  writes.operands.back().padding = any_element<std::int64_t>({0, 8, 4, 3});
  tile::RProgram p{chip.name, {}, {{0, 1, "T", arch::scratchpad_of(chip)->name}}};
  p.add(std::move(writes));
  p.add(tests::any_stores(std::move(reads), chip));
  return p;
}

void compute_of_kept(const arch::ArchSpec& chip) {
  const tile::RProgram p = any_product_of_kept(chip);
  RC_LOG() << base::to_json(tile::to_document(p, chip)) << '\n';
  base::Diagnostics diags;
  const auto m = lower(p, chip, diags);
  if (!m) {
    RC_LOG() << diags.sentences().front();
    RC_ASSERT(diags.errors().front().text.find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::interpreter_result(p, *m) == "");
}

RC_GTEST_PROP(MatrixInstructions, ReadWhatOtherStagesLeft, ()) { compute_of_kept(a100()); }

RC_GTEST_PROP(MatrixInstructions, OfAnyMapsReadWhatOtherStagesLeft, ()) {
  const arch::ArchSpec chip = tests::any_matrix_chip(a100());
  RC_LOG() << "warp " << chip.core.warp << ", " << tests::words_of(chip.compute.back()) << '\n';
  compute_of_kept(chip);
}

// A product by the chip's only instruction, two fragments of a side to a warp.
tile::StageProgram product_by_last(const char* op, const arch::ArchSpec& chip) {
  const arch::ComputeSpec& c = chip.compute.back();
  const expr::Expression e = tests::expression(op, "m=256,n=256,k=256", {}, c.dtype);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::MatrixUnit along;
  along.columns = 1;
  along.depth = 2;
  return tile::with_micro_kernel(
      tile::make_stage_program(space, {{1, 1, 2 * c.m}, {1, 1, 2 * c.n}}, {1, 1, 2 * c.k}, {16}),
      tile::micro_kernel_of(c, chip, along), {16});
}

// What random maps are for: rows, rows transposed and single elements or neighbours are among them.
TEST(MatrixInstructions, OfAnyMapsAreLoadedInManyWays) {
  std::set<tile::FragmentRead::How> ways;
  std::set<std::int64_t> parts, together, runs;
  rc::check([&] {
    for (int i = 0; i < 20; ++i) {
      const arch::ArchSpec chip = tests::any_matrix_chip(a100());
      for (const char* op : {"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n] +=! A[k,m] * B[n,k]"}) {
        const tile::StageProgram p = product_by_last(op, chip);
        for (std::size_t operand = 0; operand < 2; ++operand) {
          const tile::FragmentRead r = tile::fragment_read(p, operand, {16});
          ways.insert(r.how);
          if (r.by_rows()) parts.insert(r.parts), together.insert(r.together);
          if (!r.by_rows()) runs.insert(r.run);
        }
      }
    }
  });
  EXPECT_EQ(ways.size(), 3U);
  for (const auto& seen : {parts, together, runs}) EXPECT_GE(seen.size(), 2U);
}

// Each bit of a map changed by itself in the Kernel, whose loads stay: the interpreter finds it.
TEST(MatrixInstructions, AMapThatIsNotThatOfTheLoadsIsFound) {
  for (const char* name : {"a100", "v100", "mi210", "tilescope_two"}) {
    const arch::ArchSpec chip = tests::chip(name);
    std::string instruction;
    for (const arch::ComputeSpec& c : chip.compute)
      if (c.m > 1 && c.dtype == base::Dtype::kF16 && !c.operands) instruction = c.name;
    std::string text = tests::matrix_product("C[m,n] +=! A[m,k] * B[n,k]", "f16", "", instruction, name);
    text.replace(text.find("smem"), 4, arch::scratchpad_of(chip)->name);
    const tile::RProgram p = tests::program(text, chip);
    const Module right = tests::lowered(p, chip);
    EXPECT_EQ(tests::interpreter_result(p, right), "") << name;
    const auto found = [&](auto change) {
      Module m = right;
      change(m.kernels[0].matrix_instructions.at(0));
      return tests::interpreter_result(p, m);
    };
    EXPECT_NE(found([](MatrixInstruction& i) { std::swap(i.a->lanes[0], i.a->lanes[1]); }), "") << name;
    EXPECT_NE(found([](MatrixInstruction& i) { std::swap(i.b->lanes[0], i.b->lanes[2]); }), "") << name;
    EXPECT_NE(found([](MatrixInstruction& i) { std::swap(i.c.lanes[0], i.c.elements[0]); }), "") << name;
    EXPECT_NE(found([](MatrixInstruction& i) { i.a->elements.back() = {}; }), "") << name;
    EXPECT_THAT(found([](MatrixInstruction& i) { i.b->elements[0] = {}; }),
                testing::AnyOf(HasSubstr("no lane holds"), HasSubstr("which has another value")))
        << name;
  }
}

// Lanes that hold copies hold the same value: where a map makes copies of what were others, they do not.
TEST(MatrixInstructions, CopiesThatDifferAreFound) {
  const arch::ArchSpec chip = tests::chip("v100");
  const tile::RProgram p =
      tests::program(tests::matrix_product("C[m,n] +=! A[m,k] * B[n,k]", "f16", "", "mma.f16", "v100"), chip);
  Module m = tests::lowered(p, chip);
  MatrixInstruction& i = m.kernels[0].matrix_instructions.at(0);
  ASSERT_EQ(i.a->lanes[3], arch::FragmentBit{});
  std::swap(i.a->lanes[3], i.a->lanes[0]);
  EXPECT_THAT(tests::interpreter_result(p, m),
              HasSubstr("is a copy of another lane's element, which has another value"));
}

// Rows of every load, those transposed negative; 0 of a copy from the scratchpad element by element.
void add_loads(const Kernel& k, const std::vector<Statement>& body, std::vector<std::int64_t>& out) {
  for (const Statement& s : body) {
    if (const auto* loop = std::get_if<Loop>(&s.what)) add_loads(k, loop->body, out);
    if (const auto* l = std::get_if<LoadMatrix>(&s.what)) out.push_back(l->transposed ? -l->count : l->count);
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
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "f16"), ElementsAre(32, 32));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[k,n]", "bf16"), ElementsAre(32, -32));
  EXPECT_THAT(loads_of("C[m,n] +=! A[k,m] * B[k,n]", "f16"), ElementsAre(-32, -32));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "i8"), ElementsAre(32, 32));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "tf32"), ElementsAre(32, 32));
}

TEST(MatrixInstructions, WhatIsNotWholeRowsOfSixteenBytesIsReadByElements) {
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[k,n]", "i8"), ElementsAre(32, 0)) << "no transposing of bytes";
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[k,n]", "tf32"), ElementsAre(32, 0)) << "nor of four";
  EXPECT_THAT(loads_of("C[m,n] +=! A[k,m] * B[n,k]", "tf32", R"(,"padding":{"B":2})"), ElementsAre(0, 0));
  EXPECT_THAT(loads_of("C[m,n] +=! A[m,k] * B[n,k]", "tf32", R"(,"padding":{"A":4},"rotate":{"B":4})"),
              ElementsAre(32, 32));
  const char* op = "C[m,n] +=! A[m,k] * B[k,n]";
  EXPECT_THAT(loads_of(op, "f16", R"(,"padding":{"A":8,"B":4})"), ElementsAre(32, 0));
  EXPECT_THAT(loads_of(op, "f16", R"(,"rotate":{"A":8,"B":8})"), ElementsAre(32, -32));
  EXPECT_THAT(loads_of(op, "f16", R"(,"rotate":{"A":2})"), ElementsAre(0, -32));
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
      if (auto* l = std::get_if<LoadMatrix>(&s.what)) l->rows.when.push_back({{{{kThreadIndex, 1}}, 0}, 40});
  });
  EXPECT_THROW(tests::wrong_outputs(p, m), KernelError);
}

// What is made for one chip is evaluated with the instruction that another has of that name.
TEST(MatrixInstructions, OfAnotherChipAreItsOwn) {
  const std::string text = tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16");
  const tile::StageProgram p = tests::program(text, a100()).simt().front();
  base::Diagnostics diags;
  arch::ArchSpec chip = a100();
  for (arch::ComputeSpec& c : chip.compute) c.latency = {c.latency.n + 1};
  const auto taken = retargeted_to(p, chip, diags);
  ASSERT_TRUE(taken) << diags.errors().front().text;
  EXPECT_EQ(taken->matrix()->spec->latency.n, p.matrix()->spec->latency.n + 1);

  const auto refused = [&](const arch::ArchSpec& there) {
    base::Diagnostics of_it;
    EXPECT_FALSE(retargeted_to(p, there, of_it).has_value());
    return of_it.ok() ? "" : of_it.errors().front().text;
  };
  arch::ArchSpec other = a100();
  for (arch::ComputeSpec& c : other.compute) c.threads = 2 * other.core.warp;
  EXPECT_THAT(refused(other), HasSubstr("other threads, columns or memories take part in it"));
  other = a100();
  for (arch::ComputeSpec& c : other.compute) c.m *= 2;
  EXPECT_THAT(refused(other), HasSubstr("multiplies 32x8x16 by it, the program 16x8x16"));
  other = a100();
  for (arch::ComputeSpec& c : other.compute)
    if (c.m > 1) c.accumulate = base::Dtype::kF64;
  EXPECT_THAT(refused(other), HasSubstr("it multiplies f16 into f64, the node f16 into f32"));
}

std::string refusal_of(const arch::ComputeSpec& c, const arch::ArchSpec& chip) { return lowering_refusal(c, chip); }

TEST(MatrixInstructions, OfUnknownFragmentsAreRefused) {
  arch::ArchSpec chip = a100();
  for (arch::ComputeSpec& c : chip.compute) c.fragments.reset();
  base::Diagnostics diags;
  const std::string text = tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16");
  const auto document = base::read_json(text, diags.add_source("program"), diags);
  EXPECT_FALSE(tile::read_program(*document, chip, diags).has_value());
  const std::string why = "how its fragments lie over lanes is not known (compute.mma.f16.fragments)";
  EXPECT_EQ(diags.errors().front().text, "mma: mma.f16: " + why);
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.name == "mma.f16") {
      EXPECT_EQ(refusal_of(c, chip), why);
    }
  for (const arch::ComputeSpec& c : a100().compute)
    if (c.m > 1) {
      EXPECT_EQ(refusal_of(c, a100()), "") << c.name;
    }
}

// Cached tiles lie as wgmma reads them; another instruction of that kind says so, and is refused.
TEST(SharedFactors, InOtherCoreMatricesAreRefused) {
  arch::ArchSpec chip = tests::chip("h100_pcie");
  for (arch::ComputeSpec& c : chip.compute) {
    if (!c.operands) continue;
    EXPECT_EQ(refusal_of(c, chip), "") << c.name;
    c.load->rows = 16;
    EXPECT_EQ(refusal_of(c, chip), "cached tiles lie in core matrices of 8 rows of 16 B, it reads 16 of 16 B");
    c.load.reset();
    EXPECT_THAT(refusal_of(c, chip), HasSubstr("the core matrices that it reads are not known"));
  }
}

TEST(MatrixInstructions, OperandsHaveToBeCached) {
  EXPECT_THAT(
      tests::refusals(tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16", R"(,"cached":{"A":"smem"})"), a100()),
      testing::ElementsAre("instruction mma.f16: B is not cached"));
}

// --- factors in the scratchpad

RC_GTEST_PROP(SharedFactors, AnyProgramComputesTheReference, ()) {
  const tile::RProgram p = tests::any_matrix_program(h100(), tests::Factors::kCached);
  base::Diagnostics diags;
  const auto m = lower(p, h100(), diags);
  if (!m) {
    RC_LOG() << diags.errors().front().text;
    RC_ASSERT(diags.errors().front().text.find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::wrong_outputs(p, *m) == "");
}

std::vector<Wgmma> products_of(const Module& m) {
  std::vector<Wgmma> out;
  Module copy = m;
  tests::each_body(copy.kernels[0].body, [&](std::vector<Statement>& body) {
    for (const Statement& s : body)
      if (const auto* one = std::get_if<Wgmma>(&s.what)) out.push_back(*one);
  });
  return out;
}

Module cached(const std::string& op, const std::string& dtype, const std::string& more = "") {
  const tile::RProgram p = tests::program(tests::staged_product(op, dtype, more), h100());
  Module m = tests::lowered(p, h100());
  EXPECT_EQ(tests::wrong_outputs(p, m), "") << op << more;
  return m;
}

// Rows of 32 elements along k are four core matrices of 64 elements; rows of 64 along n are eight.
TEST(SharedFactors, AreReadAsTheirRowsRun) {
  const std::vector<Wgmma> by_k = products_of(cached("C[m,n] +=! A[m,k] * B[n,k]", "f16"));
  ASSERT_EQ(by_k.size(), 1U) << "columns side by side are one instruction";
  EXPECT_EQ(by_k[0].columns, 64);
  for (const SharedOperand& f : {*by_k[0].a, by_k[0].b}) {
    EXPECT_FALSE(f.transposed);
    EXPECT_EQ(f.along, 4 * 64);
    EXPECT_EQ(f.deep, 64);
  }
  const std::vector<Wgmma> by_n =
      products_of(cached("C[m,n] +=! A[m,k] * B[k,n]", "bf16", R"(,"padding":{"A":4,"B":8})"));
  EXPECT_EQ(by_n[0].a->deep, 72) << "of 64 elements and 16 bytes more";
  EXPECT_EQ(by_n[0].a->along, 4 * 72);
  EXPECT_TRUE(by_n[0].b.transposed);
  EXPECT_EQ(by_n[0].b.along, 72);
  EXPECT_EQ(by_n[0].b.deep, 8 * 72);
}

TEST(SharedFactors, AreAnInstructionOfAsManyColumnsAsThereAreSideBySide) {
  const auto columns = [](const char* mapping, const char* n) {
    std::string text = tests::staged_product("C[m,n] +=! A[m,k] * B[n,k]", "f16");
    text.replace(text.find(R"("n":{"per_thread":64})"), 21, mapping);
    text.replace(text.find(R"("n":64,"k":32)"), 6, std::string(R"("n":)") + n);
    text.replace(text.find(R"("n":64,"k":128)"), 6, std::string(R"("n":)") + n);
    const tile::RProgram p = tests::program(text, h100());
    const Module m = tests::lowered(p, h100());
    EXPECT_EQ(tests::wrong_outputs(p, m), "");
    return products_of(m).at(0).columns;
  };
  EXPECT_EQ(columns(R"("n":{"per_thread":256})", "256"), 256);
  EXPECT_EQ(columns(R"("n":{"per_thread":320})", "320"), 160) << "halves of what is more than 256";
  EXPECT_EQ(columns(R"("n":{"per_thread":264})", "264"), 88);
  EXPECT_EQ(columns(R"("n":{"vthread":2,"per_thread":32})", "64"), 32);
}

TEST(SharedFactors, ABarrierLessIsFound) {
  for (const char* more : {"", R"(,"num_stages":3)"}) {
    const tile::RProgram p = tests::program(tests::staged_product("C[m,n] +=! A[m,k] * B[k,n]", "f16", more), h100());
    const Module right = tests::lowered(p, h100());
    int barriers = 0;
    for (Module m = right; tests::remove<Barrier>(m.kernels[0], barriers); m = right, ++barriers)
      EXPECT_THROW(tests::wrong_outputs(p, m), KernelError) << barriers;
    EXPECT_GE(barriers, 1);
  }
}

TEST(SharedFactors, WhatIsNotOrderedIsFound) {
  const tile::RProgram p =
      tests::program(tests::staged_product("C[m,n] +=! A[m,k] * B[k,n]", "f16", R"(,"num_stages":3)"), h100());
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
  EXPECT_THAT(without(ProxyFence{}), HasSubstr("is read and was not published"));
  EXPECT_THAT(without(WgmmaFence{}), HasSubstr("products that did not begin"));
  EXPECT_THAT(without(WgmmaCommitWait{}), HasSubstr("products begin before others have ended"));
  EXPECT_THAT(without(Wait{}), HasSubstr("while a copy to it is in flight"));
}

TEST(SharedFactors, OthersThanCoreMatricesAreRefused) {
  const auto error = [](const std::string& text) {
    base::Diagnostics diags;
    const auto document = base::read_json(text, diags.add_source("program"), diags);
    EXPECT_FALSE(tile::read_program(*document, h100(), diags).has_value());
    return diags.errors().empty() ? std::string() : diags.errors().front().text;
  };
  const char* op = "C[m,n] +=! A[m,k] * B[k,n]";
  EXPECT_THAT(error(tests::staged_product(op, "f16", R"(,"padding":{"A":1})")),
              HasSubstr("operand A: a padding of 1 elements does not put core matrices multiples of 16 B apart"));
  EXPECT_THAT(error(tests::staged_product(op, "f16", R"(,"rotate":{"B":8})")),
              HasSubstr("operand B: core matrices are not rotated"));
  EXPECT_THAT(error(tests::staged_product(op, "tf32")), HasSubstr("the factors' innermost dimensions are not"));
}

}  // namespace
}  // namespace tilescope::lower
