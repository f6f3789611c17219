// SPDX-License-Identifier: Apache-2.0
// What is constructed for operators of f64 and of 8-bit floats, run by every reader and compared with plain loops.

#include <gtest/gtest.h>

#include "api/construct.h"
#include "api/verify/verify_programs.h"
#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

using base::Dtype;

const api::Progress kSilent = [](std::size_t, std::size_t) {};

struct Operator {
  const char *op, *sizes;
};
const std::vector<Operator> kOperators = {
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=70,n=65,k=33"},
    {"M[i] max=! I[i,j]; E[i,j] = exp(I[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]", "i=20,j=70"},
    {"T[m,n] +=! A[m,k] * B[k,n]; O[m,n] = relu(T[m,n] + D[n])", "m=64,n=64,k=32"},
    {"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=2,f=9,y=7,x=7,c=5,r=3,s=3"},
    {"O[i,j] = I[i,j] * alpha + beta * J[j]", "i=33,j=65"},
    {"O[i] mean=! I[i,j]", "i=40,j=50"},
    {"O[i] min=! I[i,j] * alpha", "i=40,j=50"}};

class Dtypes : public testing::TestWithParam<const char*> {};

TEST_P(Dtypes, ProgramsComputeWhatTheExpressionSays) {
  const arch::ArchSpec a = chip(GetParam());
  std::vector<api::GivenProgram> programs;
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF8E4M3, Dtype::kF8E5M2, Dtype::kF8E4M3Fnuz, Dtype::kF8E5M2Fnuz})
    for (const Operator& o : kOperators) {
      const bool every = dtype == Dtype::kF64 || dtype == Dtype::kF8E4M3;
      if (!every && &o > &kOperators[2]) continue;  // the others differ in their conversions alone
      const api::Ranked c = api::construct(expression(o.op, o.sizes, {}, dtype), a, {});
      ASSERT_FALSE(c.programs.empty()) << base::name_of(dtype) << " " << o.op << ": " << c.error;
      api::GivenProgram given;
      given.id = given.place = std::string(base::name_of(dtype)) + " " + o.op;
      given.program = c.programs.front().program;
      programs.push_back(std::move(given));
    }
  base::Diagnostics diags;
  const auto rows = api::verify_programs(programs, a, 2, kSilent, diags);
  if (!rows) GTEST_SKIP() << diags.formatted_errors().front();
  for (const api::VerifiedRow& r : *rows) {
    EXPECT_TRUE(r.errors.empty()) << r.id << ": " << r.errors.front();
    EXPECT_TRUE(r.values_ok) << r.id << ": off by " << r.worst_errors.ratio << " of " << r.allowed_errors.ratio;
    EXPECT_TRUE(r.counters_ok) << r.id;
    EXPECT_LT(r.allowed_errors.ratio, 1) << r.id << ": zeros would do";
  }
}

INSTANTIATE_TEST_SUITE_P(On, Dtypes, testing::Values("v100", "mi210", "h100_pcie"),
                         [](const auto& named) { return std::string(named.param); });

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
