// SPDX-License-Identifier: Apache-2.0
// Dtypes of tensors: as given, and as found of what an operator computes.

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/dtype.h"
#include "expr/element_bytes.h"
#include "expr/infer.h"
#include "expr/parse_args.h"
#include "expr/reference.h"

namespace tilescope::expr {
namespace {

using base::Dtype;
using testing::ElementsAre;

struct Typed {
  std::optional<Expression> e;
  std::vector<std::string> errors;
};

Typed typed(const std::string& op, const std::string& dtypes) {
  base::Diagnostics diags;
  Problem problem;
  problem.text = op;
  problem.at = {diags.add_source("--op"), 1, 1};
  problem.sizes = {{"m", 4, {}}, {"n", 4, {}}};
  if (op.find('k') != std::string::npos) problem.sizes.push_back({"k", 4, {}});
  const auto given = parse_dtypes(dtypes, {diags.add_source("--dtype"), 1, 1}, diags);
  if (given) problem.dtypes = *given;
  Typed out;
  if (given) out.e = build(problem, diags);
  out.errors = diags.formatted_errors();
  return out;
}

const std::string kTyped = "C[m,n] +=! A[m,k] * B[k,n]";

// The dtypes of arithmetic, accumulator and tensors.
std::string found(const std::string& op, const std::string& dtypes) {
  const Typed t = typed(op, dtypes);
  if (!t.e) return t.errors.front();
  std::string out = std::string(name_of(t.e->dtype)) + " " + std::string(name_of(t.e->accumulate)) + ":";
  for (const Tensor& tensor : t.e->tensors) out += " " + tensor.name + " " + std::string(name_of(tensor.dtype));
  return out;
}

TEST(Dtypes, ArithmeticIsOfTheWidestInput) {
  EXPECT_EQ(found(kTyped, "bf16"), "bf16 f32: A bf16 B bf16 C bf16");
  EXPECT_EQ(found(kTyped, "A=i8,B=bf16,accumulate=f32,C=bf16"), "bf16 f32: A i8 B bf16 C bf16");
  EXPECT_EQ(found(kTyped, "A=bf16,B=i8"), "bf16 f32: A bf16 B i8 C bf16");
  EXPECT_EQ(found(kTyped, "f8e4m3,C=bf16"), "f8e4m3 f32: A f8e4m3 B f8e4m3 C bf16");
  EXPECT_EQ(found(kTyped, "f16,A=u8,accumulate=f16"), "f16 f16: A u8 B f16 C f16");
  EXPECT_EQ(found(kTyped, "C=f16"), "f32 f32: A f32 B f32 C f16") << "a result says nothing of the inputs";
}

TEST(Dtypes, ResultsOfIntegersAreIntegersOfTheInputsButForSums) {
  EXPECT_EQ(found("O[m,n] = X[m,n]", "i8"), "i8 i32: X i8 O i8");
  EXPECT_EQ(found("O[m,n] = relu(X[m,n]) + 1", "u8"), "u8 i32: X u8 O u8");
  EXPECT_EQ(found("O[m] max=! X[m,n]", "i8"), "i8 i32: X i8 O i8");
  EXPECT_EQ(found("O[m] +=! X[m,n]", "i8"), "i8 i32: X i8 O i32");
  EXPECT_EQ(found(kTyped, "i8"), "i8 i32: A i8 B i8 C i32");
  EXPECT_EQ(found(kTyped + "; O[m,n] = relu(C[m,n])", "i8"), "i8 i32: A i8 B i8 C i32 O i32");
  EXPECT_EQ(found(kTyped + "; O[m,n] = C[m,n] / 64", "i8,O=i8"), "i8 i32: A i8 B i8 C i32 O i8");
}

TEST(Dtypes, AreWrittenAsTheyAreRead) {
  for (const char* const text : {"bf16", "bf16,A=i8", "f8e4m3,C=bf16", "i8", "f16,accumulate=f16", "i8,C=i8"})
    EXPECT_EQ(dtypes_text(*typed(kTyped, text).e), text);
  EXPECT_EQ(dtypes_text(*typed(kTyped, "A=i8,B=bf16,C=bf16,accumulate=f32").e), "bf16,A=i8");
}

TEST(Dtypes, EveryMistakeHasItsPlace) {
  EXPECT_THAT(
      typed(kTyped, "A=bf61,B,C=,1").errors,
      ElementsAre(testing::AllOf(testing::StartsWith("--dtype:1:3: expected one of f32, "),
                                 testing::EndsWith("got 'bf61'; did you mean 'bf16'?")),
                  "--dtype:1:9: expected '=' after 'B', got ','", "--dtype:1:12: expected the dtype of 'C', got ','",
                  "--dtype:1:13: expected a dtype such as bf16, or a tensor's such as A=i8, got '1'"));
  EXPECT_THAT(typed(kTyped, "A=i8,A=f16,accumulate=f32,accumulate=f16").errors,
              ElementsAre("--dtype:1:6: the dtype of 'A' is given twice",
                          "--dtype:1:27: the dtype of 'accumulate' is given twice"));
  EXPECT_THAT(typed(kTyped, "f16,a=i8").errors,
              ElementsAre("--dtype:1:5: no stage has a tensor 'a'; did you mean 'A'?"));
  EXPECT_THAT(typed(kTyped, "i8,B=f16").errors,
              ElementsAre("--dtype:1:4: 'B' is of f16, but the arithmetic is of i8: expected a float before it, as in "
                          "f16,B=f16"));
  EXPECT_THAT(typed(kTyped, "f32,C=f64").errors,
              ElementsAre("--dtype:1:5: 'C' is of f64, but the arithmetic is of f32: expected f64 before it, as in "
                          "f64,C=f64"));
}

// Every code of the small dtypes, converted to the other and back.
TEST(Dtypes, OneHoldsAnotherWhereConversionChangesNothing) {
  const auto finite = [](Dtype d) {
    std::set<double> values;
    const auto size = static_cast<int>(base::size_of(d).n);
    for (int code = 0; code < (size == 1 ? 1 << 8 : 1 << 16); ++code) {
      const unsigned char bytes[2] = {static_cast<unsigned char>(code), static_cast<unsigned char>(code >> 8)};
      if (const double v = element_at(d, bytes); std::isfinite(v)) values.insert(v);
    }
    return values;
  };
  const std::vector<Dtype> small = {Dtype::kI8,     Dtype::kU8,     Dtype::kF16,        Dtype::kBf16,
                                    Dtype::kF8E4M3, Dtype::kF8E5M2, Dtype::kF8E4M3Fnuz, Dtype::kF8E5M2Fnuz};
  for (const Dtype narrow : small) {
    const std::set<double> values = finite(narrow);
    for (const base::DtypeName& wide : base::kDtypes) {
      if (base::is_integer(wide.dtype) && !base::is_integer(narrow)) continue;  // no integer is asked to hold floats
      const bool kept =
          std::all_of(values.begin(), values.end(), [&](double v) { return round_to(wide.dtype, v) == v; });
      EXPECT_EQ(holds(wide.dtype, narrow), kept) << wide.name << " of " << name_of(narrow);
    }
  }
}

}  // namespace
}  // namespace tilescope::expr
