// SPDX-License-Identifier: Apache-2.0
#include "expr/parse.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::expr {
namespace {

using testing::ElementsAre;

struct Parsed {
  std::vector<ParsedStage> stages;
  std::vector<std::string> errors;
};

Parsed parse_text(std::string_view text) {
  base::Diagnostics diags;
  const auto stages = parse(text, {diags.add_source("--op"), 1, 1}, diags);
  EXPECT_EQ(stages.has_value(), diags.ok());
  return {stages.value_or(std::vector<ParsedStage>{}), diags.formatted_errors()};
}

std::vector<std::string> errors_of(std::string_view text) { return parse_text(text).errors; }

TEST(Parse, MatmulReadsAsItStands) {
  const Parsed p = parse_text("C[m,n] +=! A[m,k] * B[k,n]");
  ASSERT_EQ(p.stages.size(), 1U);
  const ParsedStage& s = p.stages[0];
  EXPECT_EQ(s.output, "C");
  EXPECT_EQ(s.reducer, Reducer::kSum);
  ASSERT_EQ(s.output_axes.size(), 2U);
  EXPECT_EQ(s.output_axes[1].at.column, 5U);
  ASSERT_EQ(s.reads.size(), 2U);
  EXPECT_EQ(s.reads[1].tensor, "B");
  EXPECT_EQ(s.reads[1].at.column, 21U);
  ASSERT_EQ(s.body.size(), 3U);
  EXPECT_EQ(s.body[2].kind, NodeKind::kMultiply);
  EXPECT_EQ(s.body[2].left, 0);
  EXPECT_EQ(s.body[2].right, 1);
}

TEST(Parse, EveryReducerAndPlainAssignment) {
  const Parsed p =
      parse_text("A[i] = X[i]; B[i] +=! X[i]; C[i] max=! X[i]; D[i] min=! X[i]; E[i]mean=!X[i]; F[i]=-X[i]");
  ASSERT_EQ(p.stages.size(), 6U);
  const Reducer expected[] = {Reducer::kNone, Reducer::kSum,  Reducer::kMax,
                              Reducer::kMin,  Reducer::kMean, Reducer::kNone};
  for (std::size_t s = 0; s < 6; ++s) EXPECT_EQ(p.stages[s].reducer, expected[s]);
}

TEST(Parse, CoordinatesAreSumsWithWholeCoefficients) {
  const Parsed p = parse_text("O[y,x] +=! I[y*2+r-1, 3*x-s, 7, -(y-x)*2+4-1, y-y+x]");
  ASSERT_EQ(p.stages.size(), 1U);
  const auto& c = p.stages[0].reads[0].coordinates;
  ASSERT_EQ(c.size(), 5U);
  EXPECT_EQ(c[0].terms[0].coefficient, 2);
  EXPECT_EQ(c[0].terms[1].axis, "r");
  EXPECT_EQ(c[0].offset, -1);
  EXPECT_EQ(c[1].terms[0].coefficient, 3);
  EXPECT_EQ(c[1].terms[1].coefficient, -1);
  EXPECT_TRUE(c[2].terms.empty());
  EXPECT_EQ(c[2].offset, 7);
  EXPECT_EQ(c[3].terms[0].coefficient, -2);
  EXPECT_EQ(c[3].terms[1].coefficient, 2);
  EXPECT_EQ(c[3].offset, 3);
  ASSERT_EQ(c[4].terms.size(), 1U) << "a term that cancels is gone";
  EXPECT_EQ(c[4].terms[0].axis, "x");
}

TEST(Parse, DivisionAndRemainderOfASum) {
  const Parsed p = parse_text("O[y] = I[y/2, (y+1)%16, y*3/2]");
  ASSERT_EQ(p.stages.size(), 1U);
  const auto& c = p.stages[0].reads[0].coordinates;
  EXPECT_EQ(c[0].divisor, 2);
  EXPECT_EQ(c[1].modulus, 16);
  EXPECT_EQ(c[1].offset, 1);
  EXPECT_EQ(c[2].divisor, 2);
  EXPECT_EQ(c[2].terms[0].coefficient, 3);
}

TEST(Parse, EqualReadsShareOneEntry) {
  const Parsed p = parse_text("O[y,x] = I[y+x,x] * I[x+y,x] + I[y,x]");
  ASSERT_EQ(p.stages.size(), 1U);
  EXPECT_EQ(p.stages[0].reads.size(), 2U);
  EXPECT_EQ(p.stages[0].body[0].index, p.stages[0].body[1].index);
}

TEST(Parse, TextIsKeptWithWhiteSpaceNormalised) {
  const Parsed p = parse_text("  C[m] =\n\t A[m]  *2 ;  D[m]=C[m];");
  ASSERT_EQ(p.stages.size(), 2U) << "a `;` may end the text";
  EXPECT_EQ(p.stages[0].text, "C[m] = A[m] *2");
  EXPECT_EQ(p.stages[1].text, "D[m]=C[m]");
  EXPECT_EQ(p.stages[1].output_at, (base::Position{base::SourceId{0}, 2, 15}));
}

TEST(Parse, NumbersAndPrecedence) {
  const Parsed p = parse_text("O[i] = 1e-5 + 2.5 * -I[i] / .5 - max(alpha, 3)");
  ASSERT_EQ(p.stages.size(), 1U);
  const auto& body = p.stages[0].body;
  EXPECT_EQ(body[0].number, 1e-5);
  EXPECT_EQ(body.back().kind, NodeKind::kSubtract);
  const Node& call = body[static_cast<std::size_t>(body.back().right)];
  EXPECT_EQ(call.function, Function::kMax);
  EXPECT_EQ(body[static_cast<std::size_t>(body.back().left)].kind, NodeKind::kAdd);
  EXPECT_EQ(p.stages[0].scalars[0].name, "alpha");
}

TEST(Parse, SpellingsAreThoseOfTheNotation) {
  EXPECT_EQ(spelling(Reducer::kMean), "mean=!");
  EXPECT_EQ(spelling(Function::kMin), "min");
  EXPECT_EQ(spelling(Function::kExp), "exp");
  EXPECT_EQ(arity(Function::kMin), 2);
  EXPECT_EQ(arity(Function::kAbs), 1);
}

TEST(ParseErrors, NamePlaceExpectedAndFound) {
  EXPECT_THAT(errors_of("C[m]=A[m 2]"), ElementsAre("--op:1:10: expected ']' after the coordinates of 'A', got '2'"));
  EXPECT_THAT(errors_of("C[m,n"), ElementsAre("--op:1:6: expected ']' after the coordinates of 'C', got the end"));
  EXPECT_THAT(errors_of("C[m*2] = A[m]"),
              ElementsAre("--op:1:4: expected a bare axis as a coordinate of the output 'C', got '*'"));
  EXPECT_THAT(errors_of("C[m] = A[m] @ 2"), ElementsAre("--op:1:13: unexpected character '@'"));
  EXPECT_THAT(errors_of("C[m] = \xc3\xa9 + A[m]"), ElementsAre("--op:1:8: unexpected character '\xc3\xa9'"));
  EXPECT_THAT(errors_of("C[m] = \xff"), ElementsAre("--op:1:8: unexpected byte 0xff"));
}

TEST(ParseErrors, AllStagesAreRead) {
  EXPECT_THAT(
      errors_of("C[m] A[m]; D[m] = expp(C[m]) * sqr(C[m]); E = D[m]; F[m] = D[m"),
      ElementsAre("--op:1:6: expected '=' or a reducer such as '+=!' after 'C[...]', got 'A'",
                  "--op:1:19: unknown function 'expp', expected one of exp log sqrt rsqrt tanh sigmoid erf relu "
                  "abs max min pow sin cos floor ceil round sign select; did you mean 'exp'?",
                  "--op:1:32: unknown function 'sqr', expected one of exp log sqrt rsqrt tanh sigmoid erf relu "
                  "abs max min pow sin cos floor ceil round sign select; did you mean 'sqrt'?",
                  "--op:1:45: expected '[' after the output 'E', got '='",
                  "--op:1:63: expected ']' after the coordinates of 'D', got the end"));
}

TEST(ParseErrors, ReducedAxisNeedsAReducer) {
  EXPECT_THAT(errors_of("C[m,n] = A[m,k] * B[k,n]"),
              ElementsAre("--op:1:14: axis 'k' is not an index of the output; sum over it with '+=!'"));
}

TEST(ParseErrors, CoefficientsStayWithin64Bits) {
  EXPECT_THAT(errors_of("C[m] = A[m*4000000000*4000000000]"),
              ElementsAre("--op:1:22: the coefficient of 'm' in a coordinate of 'A' does not fit 64 bits"));
  EXPECT_THAT(errors_of("C[m] = A[m+9223372036854775807+1]"),
              ElementsAre("--op:1:31: the offset in a coordinate of 'A' does not fit 64 bits"));
  EXPECT_THAT(errors_of("C[m] = A[m+9223372036854775808]"),
              ElementsAre("--op:1:12: the number 9223372036854775808 does not fit 64 bits"));
}

TEST(ParseErrors, NestingAndLengthAreLimited) {
  const auto nested = [](int depth) {
    return fmt::format("C[m] = {}1", std::string(static_cast<std::size_t>(depth), '('));
  };
  EXPECT_THAT(errors_of(nested(64)), ElementsAre("--op:1:72: nested more than 64 levels deep"));
  EXPECT_THAT(errors_of(nested(63)), ElementsAre("--op:1:72: expected ')' to close '(', got the end"));
  EXPECT_THAT(errors_of("C[m] = A[" + std::string(100, '-') + "m]"),
              ElementsAre("--op:1:73: nested more than 64 levels deep"));
  EXPECT_THAT(errors_of(std::string(16385, ' ')),
              ElementsAre("--op:1:1: an expression is at most 16384 bytes long, got 16385"));
}

TEST(ParseErrors, CountsAreLimited) {
  std::string axes, reads, stages, ranks;
  for (int i = 0; i < 13; ++i) axes += fmt::format("{}A[a{}]", i > 0 ? "*" : "", i);
  for (int i = 0; i < 17; ++i) reads += fmt::format("{}A[m+{}]", i > 0 ? "*" : "", i);
  for (int i = 0; i < 33; ++i) stages += fmt::format("T{}[m]=A[m];", i);
  for (int i = 0; i < 13; ++i) ranks += i > 0 ? ",m" : "m";
  EXPECT_THAT(errors_of("O[a0] +=! " + axes), ElementsAre("--op:1:87: a stage has at most 12 axes"));
  EXPECT_THAT(errors_of("O[m] = " + reads), ElementsAre("--op:1:126: a stage has at most 16 different reads"));
  EXPECT_THAT(errors_of(stages), ElementsAre("--op:1:375: an expression has at most 32 stages"));
  EXPECT_THAT(errors_of("O[m] = A[" + ranks + "]"), ElementsAre("--op:1:8: 'A' has more than 12 coordinates"));
}

TEST(ParseErrors, PlacesStandWhereTheTextStands) {
  base::Diagnostics diags;
  const base::SourceId source = diags.add_source("suite.yaml");
  EXPECT_FALSE(parse("C[m] : A[m]", {source, 12, 9}, diags));
  EXPECT_THAT(diags.formatted_errors(), ElementsAre("suite.yaml:12:14: unexpected character ':'"));
}

}  // namespace
}  // namespace tilescope::expr
