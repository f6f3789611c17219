// SPDX-License-Identifier: Apache-2.0
// Every device's matrix instructions: their texts for the CPU against plain loops, and for chips by their compilers.

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/detail/prelude.h"
#include "backends/cuda/detail/ptx.h"
#include "backends/cuda/emit.h"
#include "backends/cuda/host_run.h"
#include "backends/cuda/installed.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/process.h"
#include "tests/support/lowered.h"
#include "tests/unit/backends_cuda/kernels.h"
#include "tests/unit/backends_cuda/samples.h"

namespace tilescope::tests {
namespace {

using arch::FragmentAxis;
using arch::FragmentMap;
using cuda::Dialect;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<lower::MatrixInstruction> instructions_of(const arch::ArchSpec& chip) {
  std::vector<lower::MatrixInstruction> out;
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.fragments && !c.operands) out.push_back(matrix_instruction(chip, c));
  return out;
}

constexpr std::int64_t kGroups = 2;  // of lanes, in the one block of a module

// D = C + 2 A B by two of the instruction, in each of two groups of lanes, which read their elements one by one.
lower::Module two_products(const lower::MatrixInstruction& i) {
  const auto [m, n, k] = i.shape;
  KernelMaker maker("two_products", 1, kGroups * i.lanes);
  const int a = maker.global("A", kGroups * m * k, lower::Role::kInput, i.elements);
  const int b = maker.global("B", kGroups * k * n, lower::Role::kInput, i.elements);
  const int c = maker.global("C", kGroups * m * n, lower::Role::kInput, i.sums);
  const int d = maker.global("D", kGroups * m * n, lower::Role::kOutput, i.sums);
  const int a_part = maker.registers("A_part", i.a->elements_of_lane(), i.elements);
  const int b_part = maker.registers("B_part", i.b->elements_of_lane(), i.elements);
  const int d_part = maker.registers("D_part", i.c.elements_of_lane(), i.sums);
  const Affine group = maker.quotient(maker.thread(), i.lanes, 0, "group");
  std::vector<Affine> bits;
  for (std::size_t bit = 0; bit < i.c.lanes.size(); ++bit)
    bits.push_back(maker.quotient(maker.thread(), std::int64_t{1} << bit, 2, "bit"));
  // Of an element of a lane in a matrix of so many columns; B's rows are its depth.
  const auto place = [&](const FragmentMap& map, std::int64_t element, std::int64_t elements, std::int64_t columns) {
    const auto position = [&](const arch::FragmentPlace& p) {
      return &map == &*i.a ? p.row * columns + p.depth : (p.row + p.depth) * columns + p.column;
    };
    Affine at = group * elements + lower::constant(position(map.place_of(0, element)));
    for (std::size_t bit = 0; bit < bits.size(); ++bit)
      at = at + bits[bit] * position(map.place_of(std::int64_t{1} << bit, 0));
    return at;
  };
  const auto constant = [](std::int64_t e) { return lower::constant(e); };
  Body body;
  for (std::int64_t e = 0; e < i.a->elements_of_lane(); ++e)
    body.push_back(copy(a_part, constant(e), a, place(*i.a, e, m * k, k)));
  for (std::int64_t e = 0; e < i.b->elements_of_lane(); ++e)
    body.push_back(copy(b_part, constant(e), b, place(*i.b, e, k * n, n)));
  for (std::int64_t e = 0; e < i.c.elements_of_lane(); ++e)
    body.push_back(copy(d_part, constant(e), c, place(i.c, e, m * n, n)));
  for (int twice = 0; twice < 2; ++twice) body.push_back({lower::Mma{0, {d_part, {}}, {a_part, {}}, {b_part, {}}}, {}});
  for (std::int64_t e = 0; e < i.c.elements_of_lane(); ++e)
    body.push_back(copy(d, place(i.c, e, m * n, n), d_part, constant(e)));
  maker.kernel().matrix_instructions.push_back(i);
  return maker.finish(std::move(body));
}

expr::Values whole_numbers(std::int64_t count, std::mt19937& random) {
  expr::Values out;
  for (std::int64_t n = 0; n < count; ++n) out.push_back(static_cast<double>(random() % 9) - 4);
  return out;
}

// A, B, C and what D has to be.
std::vector<expr::Values> values_of(const lower::MatrixInstruction& i, std::mt19937& random) {
  const auto [m, n, k] = i.shape;
  std::vector<expr::Values> v = {whole_numbers(kGroups * m * k, random),
                                 whole_numbers(kGroups * k * n, random),
                                 whole_numbers(kGroups * m * n, random),
                                 {}};
  const auto at = [](std::int64_t place) { return static_cast<std::size_t>(place); };
  for (std::int64_t row = 0; row < kGroups * m; ++row)
    for (std::int64_t column = 0; column < n; ++column) {
      double sum = v[2][at(row * n + column)];
      for (std::int64_t d = 0; d < k; ++d) sum += 2 * v[0][at(row * k + d)] * v[1][at((row / m * k + d) * n + column)];
      v[3].push_back(sum);
    }
  return v;
}

class EachChip : public testing::TestWithParam<const char*> {
 protected:
  arch::ArchSpec chip_ = chip(GetParam());
  std::vector<lower::MatrixInstruction> instructions_ = instructions_of(chip_);
};

class OfNvidia : public EachChip {};
class OfAmd : public EachChip {};

TEST_P(EachChip, MultipliesOnTheCpuAsPlainLoopsDo) {
  cuda::HostCompiler host(chip_);
  if (const auto why = host.why_unsupported()) GTEST_SKIP() << *why;
  ASSERT_FALSE(instructions_.empty());
  for (const lower::MatrixInstruction& i : instructions_) host.add(two_products(i));
  std::mt19937 random(3);
  for (std::size_t n = 0; n < instructions_.size(); ++n) {
    SCOPED_TRACE(instructions_[n].name);
    std::vector<expr::Values> values = values_of(instructions_[n], random);
    const expr::Values expected = std::move(values.back());
    values.back().clear();
    for (const cuda::HostBuild build : {cuda::HostBuild::kValues, cuda::HostBuild::kCounting}) {
      const cuda::HostResult r = host.run(static_cast<int>(n), {build, 1, {}, values});
      ASSERT_EQ(r.error, "");
      EXPECT_EQ(r.globals.back(), expected);
    }
  }
}

// The kernels and what is defined for them alone.
std::string own_text(const cuda::Emitted& e, Dialect dialect) {
  const std::string prelude = cuda::prelude_for(e.text, dialect);
  return e.text.substr(e.text.find(prelude) + prelude.size());
}

// One text of all instructions that the dialect has words for.
std::string text_of(const std::vector<lower::MatrixInstruction>& instructions, Dialect dialect) {
  std::string text = cuda::whole_prelude(dialect);
  for (const lower::MatrixInstruction& i : instructions) {
    const lower::Module m = two_products(i);
    EXPECT_THAT(cuda::refusals(m, dialect), IsEmpty());
    const cuda::Emitted e = cuda::emit(m, {}, dialect);
    const std::string name = "of_" + e.definitions.at(0);
    text += "#define two_products " + name + "\n" + own_text(e, dialect) + "#undef two_products\n";
  }
  return text;
}

// PTX is for the chip's own target, or, where the compiler does not know that any more, for the oldest that it knows:
// PTX of a chip is PTX of all later ones.
std::string target_of(const arch::ArchSpec& chip, const cuda::DeviceCompiler& compiler) {
  return compiler.refusal_of(*chip.target).empty() ? *chip.target : compiler.targets().front();
}

// Programs of two warps by the instruction: rows along k, and along m and n.
std::vector<lower::Module> programs_of(const lower::MatrixInstruction& i, const arch::ArchSpec& chip) {
  std::vector<lower::Module> out;
  for (const char* op : {"C[m,n] +=! A[m,k] * B[n,k]", "C[m,n] +=! A[k,m] * B[k,n]"})
    out.push_back(lowered(
        program(matrix_product(op, std::string(base::name_of(i.elements)), "", i.name, chip.name), chip), chip));
  return out;
}

TEST_P(OfNvidia, IsTakenByNvrtc) {
  const cuda::TemporaryFolder folder;
  const cuda::DeviceCompiler compiler(folder.path());
  if (!compiler.why_unsupported().empty()) GTEST_SKIP() << compiler.why_unsupported();
  const std::string target = target_of(chip_, compiler);
  const cuda::DeviceCode code = compiler.compile(text_of(instructions_, Dialect::kCuda), target);
  ASSERT_TRUE(code.ok()) << code.error;
  ASSERT_EQ(code.kernels.size(), instructions_.size());
  for (const cuda::KernelUsage& k : code.kernels) EXPECT_EQ(k.spill_store_bytes, 0) << k.name;
  for (const lower::MatrixInstruction& i : instructions_)
    for (const lower::Module& m : programs_of(i, chip_)) {
      const cuda::DeviceCode whole = compiler.compile(cuda::emit(m).text, target);
      EXPECT_THAT(cuda::refusals(m, Dialect::kCuda), IsEmpty());
      EXPECT_TRUE(whole.ok()) << i.name << ": " << whole.error;
    }
}

TEST_P(OfAmd, IsTakenByClang) {
  const cuda::HipCompiler compiler = cuda::find_hip_compiler();
  if (!compiler.refusal.empty()) GTEST_SKIP() << compiler.refusal;
  const cuda::TemporaryFolder folder;
  const auto compile = [&](const std::string& text) {
    EXPECT_TRUE(cuda::write_file(folder.file("one.hip"), text));
    return cuda::run_program({compiler.command, "-x", "hip", "--offload-arch=" + *chip_.target, "--offload-device-only",
                              "-nogpuinc", "-nogpulib", "-Wall", "-Wextra", "-Werror", "-O1", "-S", "-o",
                              folder.file("one.s"), folder.file("one.hip")});
  };
  for (const lower::MatrixInstruction& i : instructions_)
    for (const lower::Module& m : programs_of(i, chip_)) {
      EXPECT_THAT(cuda::refusals(m, Dialect::kHip), IsEmpty());
      const cuda::Finished whole = compile(cuda::emit(m, {}, Dialect::kHip).text);
      EXPECT_TRUE(whole.ok()) << i.name << ": " << whole.output;
      EXPECT_NE(cuda::file_bytes(folder.file("one.s")).find("v_mfma_"), std::string::npos) << i.name;
    }
  const cuda::Finished f = compile(text_of(instructions_, Dialect::kHip));
  ASSERT_TRUE(f.ok()) << f.output;
  const std::string code = cuda::file_bytes(folder.file("one.s"));
  for (const lower::MatrixInstruction& i : instructions_) {
    const std::string name = "v_" + i.hip.substr(std::string("__builtin_amdgcn_").size()) + " ";
    int times = 0;
    for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) ++times;
    EXPECT_EQ(times, 2) << name;
  }
}

// One chip of each kind of matrix units.
const auto kName = [](const auto& named) { return named.param; };
INSTANTIATE_TEST_SUITE_P(All, EachChip,
                         testing::Values("v100", "t4", "rtx3090", "a100", "h100_pcie", "mi100", "mi210",
                                         "tilescope_two"),
                         kName);
INSTANTIATE_TEST_SUITE_P(All, OfNvidia, testing::Values("v100", "t4", "rtx3090", "a100", "h100_pcie"), kName);
INSTANTIATE_TEST_SUITE_P(All, OfAmd, testing::Values("mi100", "mi210"), kName);

// --- what a dialect cannot say

TEST(MatrixWords, AreMissingWhereTheChipsFileHasNone) {
  const arch::ArchSpec mi210 = chip("mi210"), two = chip("tilescope_two");
  const lower::Module mfma = two_products(matrix_instruction(mi210, "mma.f16"));
  EXPECT_THAT(cuda::refusals(mfma, Dialect::kHip), IsEmpty());
  EXPECT_THAT(cuda::refusals(mfma, Dialect::kCuda),
              ElementsAre("instruction mma.f16: CUDA has no word for it; HIP can"));
  const lower::Module dpas = two_products(matrix_instruction(two, "dpas.f16"));
  for (const Dialect d : {Dialect::kCuda, Dialect::kHip})
    EXPECT_THAT(cuda::refusals(dpas, d), ElementsAre(HasSubstr("has no word for it; no dialect can")));
  EXPECT_THAT(cuda::refusals(matrices_sample().module, Dialect::kHip),
              ElementsAre("instruction mma.f16: HIP has no word for it; CUDA can",
                          "HIP has no word for 32 rows of 16 B that 32 lanes load together",
                          "HIP has no word for 16 rows of 16 B that 32 lanes load together and transpose"));
  EXPECT_THAT(cuda::refusals(staged_sample("C[m,n] +=! A[m,k] * B[n,k]", "f16").module, Dialect::kHip),
              ElementsAre(HasSubstr("instruction wgmma.f16: HIP has no word for it")));
}

TEST(MatrixWords, OfSumsWithoutRegistersOfTheirOwnAreMissing) {
  lower::MatrixInstruction i = matrix_instruction(chip("a100"), "mma.f16");
  i.sums = base::Dtype::kF16;
  EXPECT_THAT(cuda::refusals(two_products(i), Dialect::kCuda),
              ElementsAre("instruction mma.f16: CUDA has no registers for its sums of f16"));
}

// --- loads of rows

cuda::RowLoad load(std::int64_t rows, std::int64_t columns, base::Dtype dtype, const char* map,
                   bool transposed = false) {
  return {rows, columns, dtype, fragment_map(map), transposed};
}

// As the PTX manual draws ldmatrix: lane l has the 4 bytes 4 (l % 4).. of row l / 4 of each matrix.
TEST(Ldmatrix, IsKnownByItsMap) {
  using base::Dtype;
  EXPECT_THAT(cuda::ldmatrix_of(load(32, 8, Dtype::kF16, "c2 c4 r1 r2 r4 / c1 r8 r16")),
              HasSubstr("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"));
  EXPECT_THAT(cuda::ldmatrix_of(load(8, 16, Dtype::kI8, "c4 c8 r1 r2 r4 / c1 c2")),
              HasSubstr("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"));
  EXPECT_THAT(cuda::ldmatrix_of(load(16, 4, Dtype::kTf32, "c1 c2 r1 r2 r4 / r8")), HasSubstr(".x2.shared.b16"));
  EXPECT_THAT(cuda::ldmatrix_of(load(16, 8, Dtype::kBf16, "r2 r4 c1 c2 c4 / r1 r8", true)),
              HasSubstr(".x2.trans.shared.b16"));
}

TEST(Ldmatrix, MayBringItsMatricesInAnyOrder) {
  EXPECT_THAT(cuda::ldmatrix_of(load(32, 8, base::Dtype::kF16, "c2 c4 r1 r2 r4 / c1 r16 r8")),
              HasSubstr(R"("=r"(to[0]), "=r"(to[2]), "=r"(to[1]), "=r"(to[3]))"));
}

TEST(Ldmatrix, IsNoOtherLoad) {
  using base::Dtype;
  EXPECT_EQ(cuda::ldmatrix_of(load(32, 8, Dtype::kF16, "c1 c4 r1 r2 r4 / c2 r8 r16")), "");  // other pairs
  EXPECT_EQ(cuda::ldmatrix_of(load(32, 8, Dtype::kF16, "r2 r4 c1 c2 c4 / r1 r8 r16")), "");  // without .trans
  EXPECT_EQ(cuda::ldmatrix_of(load(16, 16, Dtype::kI8, "r4 r8 c1 c2 c4 c8 / r1 r2", true)), "");
  EXPECT_EQ(cuda::ldmatrix_of(load(16, 16, Dtype::kF16, "c1 c2 c4 c8 / r1 r2 r4 r8")), "");  // rows of 32 B
  EXPECT_EQ(cuda::ldmatrix_of(load(8, 2, Dtype::kF64, "c1 - r1 r2 r4 /")), "");
}

}  // namespace
}  // namespace tilescope::tests
