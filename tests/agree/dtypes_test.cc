// SPDX-License-Identifier: Apache-2.0
// What is constructed for operators of f64 and of 8-bit floats, run by every reader and compared with plain loops.

#include <filesystem>

#include <gtest/gtest.h>

#include "api/construct.h"
#include "api/verify/verify_programs.h"
#include "expr/parse_args.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/support/silent.h"

namespace tilescope::tests {
namespace {

using base::Dtype;

struct TypedOperator {
  const char *op, *sizes;
};
const std::vector<TypedOperator> kTypedOperators = {
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=70,n=65,k=33"},
    {"M[i] max=! I[i,j]; E[i,j] = exp(I[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]", "i=20,j=70"},
    {"T[m,n] +=! A[m,k] * B[k,n]; O[m,n] = relu(T[m,n] + D[n])", "m=64,n=64,k=32"},
    {"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=2,f=9,y=7,x=7,c=5,r=3,s=3"},
    {"O[i,j] = I[i,j] * alpha + beta * J[j]", "i=33,j=65"},
    {"O[i] mean=! I[i,j]", "i=40,j=50"},
    {"O[i] min=! I[i,j] * alpha", "i=40,j=50"}};

std::vector<api::VerifiedRow> verified(const std::vector<api::GivenProgram>& programs, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const auto rows = api::verify_programs(programs, a, 2, kSilent, diags);
  EXPECT_TRUE(rows) << (diags.ok() ? "" : diags.formatted_errors().front());
  return rows.value_or(std::vector<api::VerifiedRow>{});
}

void expect_right(const std::vector<api::VerifiedRow>& rows) {
  for (const api::VerifiedRow& r : rows) {
    EXPECT_TRUE(r.errors.empty()) << r.id << ": " << r.errors.front();
    EXPECT_TRUE(r.values_ok) << r.id << ": off by " << r.worst_errors.ratio << " of " << r.allowed_errors.ratio;
    EXPECT_TRUE(r.counters_ok) << r.id;
  }
}

api::GivenProgram given(const api::Ranked& constructed, const std::string& name) {
  api::GivenProgram out;
  out.id = out.place = name;
  if (!constructed.programs.empty()) out.program = constructed.programs.front().program;
  EXPECT_TRUE(out.program) << name << ": " << constructed.error;
  return out;
}

class Dtypes : public testing::TestWithParam<const char*> {};

TEST_P(Dtypes, ProgramsComputeWhatTheExpressionSays) {
  const arch::ArchSpec a = chip(GetParam());
  std::vector<api::GivenProgram> programs;
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF8E4M3, Dtype::kF8E5M2, Dtype::kF8E4M3Fnuz, Dtype::kF8E5M2Fnuz})
    for (const TypedOperator& o : kTypedOperators) {
      const bool every = dtype == Dtype::kF64 || dtype == Dtype::kF8E4M3;
      if (!every && &o > &kTypedOperators[2]) continue;  // the others differ in their conversions alone
      programs.push_back(given(api::construct(expression(o.op, o.sizes, {}, dtype), a, {}),
                               std::string(base::name_of(dtype)) + " " + o.op));
    }
  const std::vector<api::VerifiedRow> rows = verified(programs, a);
  expect_right(rows);
  for (const api::VerifiedRow& r : rows) EXPECT_LT(r.allowed_errors.ratio, 1) << r.id << ": zeros would do";
}

INSTANTIATE_TEST_SUITE_P(On, Dtypes, testing::Values("v100", "mi210", "h100_pcie"),
                         [](const auto& named) { return std::string(named.param); });

// Chips of both classes, with matrix units of two vendors and of none, with one device cache and with two.
class DtypesByTensor : public testing::TestWithParam<std::string> {};

TEST_P(DtypesByTensor, WhatIsConstructedEveryReaderTakes) {
  base::Diagnostics diags;
  const arch::ArchSpec a = chip(GetParam());
  std::vector<api::GivenProgram> programs;
  for (const char* const dtypes : {"bf16,B=i8", "bf16,A=i8,B=u8", "f16,A=f8e4m3,C=f32", "f16,B=u8", "f32,A=i8,C=i8",
                                   "bf16,C=f16", "i8,C=u8", "u8,A=i8", "f8e4m3,B=f8e5m2"})
    for (const char* const sizes : {"m=33,n=65,k=48", "m=1,n=37,k=31"}) {
      expr::Problem problem;
      problem.text = "C[m,n] +=! A[m,k] * B[k,n]";
      problem.sizes = expr::parse_sizes(sizes, {}, diags).value();
      problem.dtypes = expr::parse_dtypes(dtypes, {}, diags).value();
      const api::Ranked constructed = api::construct(expr::build(problem, diags).value(), a, {});
      if (constructed.programs.empty())
        EXPECT_NE(constructed.error.find("no instruction that computes"), std::string::npos) << constructed.error;
      else
        programs.push_back(given(constructed, std::string(dtypes) + " " + sizes));
    }
  require_no_errors(diags);
  EXPECT_GE(programs.size(), 8);
  const std::vector<api::VerifiedRow> rows = verified(programs, a);
  EXPECT_EQ(rows.size(), programs.size());
  expect_right(rows);
}

INSTANTIATE_TEST_SUITE_P(On, DtypesByTensor,
                         testing::Values("v100", "h200", "mi210", "k80", "tilescope_two", "wormhole_n150", "ipu_gc200",
                                         "wse2", source_path("docs/my_chip.yaml").string(),
                                         source_path("tests/support/chips/other_names.yaml").string()),
                         [](const auto& named) { return std::filesystem::path(named.param).stem().string(); });

TEST(DtypesWithoutUnits, AreRefusedInASentence) {
  arch::ArchSpec a = chip("v100");
  std::erase_if(a.compute, [](const arch::ComputeSpec& c) { return c.dtype == Dtype::kF64; });
  const api::Ranked c =
      api::construct(expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64", {}, Dtype::kF64), a, {});
  EXPECT_TRUE(c.programs.empty());
  EXPECT_EQ(c.error, "v100 has no instruction that computes f64 into f64 one element at a time");
}

}  // namespace
}  // namespace tilescope::tests
