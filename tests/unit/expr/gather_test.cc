// SPDX-License-Identifier: Apache-2.0
// Coordinates that are read from a table: notation, inference, values, the stages that they are split into, and the
// indices that are drawn for them.

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expr/infer.h"
#include "expr/parse_args.h"
#include "expr/reference.h"
#include "expr/rewrite.h"
#include "expr/tables.h"
#include "tests/unit/expr/build_expression.h"

namespace tilescope::tests {
namespace {

using namespace expr;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kRows = "O[i,j] = E[T[i],j]";

// With the dtypes of `--dtype`.
std::optional<Expression> typed(const std::string& op, const std::string& shape, const std::string& dtypes,
                                std::string* error = nullptr) {
  base::Diagnostics diags;
  Problem p;
  p.text = op;
  p.at = {diags.add_source("--op"), 1, 1};
  p.sizes = parse_sizes("i=4", p.at, diags).value();
  p.shapes = parse_shapes(shape, p.at, diags).value();
  const auto given = parse_dtypes(dtypes, {diags.add_source("--dtype"), 1, 1}, diags);
  if (given) p.dtypes = *given;
  auto e = given ? expr::build(p, diags) : std::nullopt;
  if (error != nullptr && !diags.sentences().empty()) *error = diags.sentences().front();
  return e;
}

// Values of the last output.
Values result_of(const Expression& e, std::vector<Values> inputs) {
  inputs.resize(e.tensors.size());
  expr::evaluate(e, {}, inputs);
  return inputs[static_cast<std::size_t>(e.stages.back().output)];
}

Values counted(std::size_t n) {
  Values out(n);
  std::iota(out.begin(), out.end(), 0.0);
  return out;
}

TEST(Gather, TakesRowsByTheTable) {
  const Built b = build(kRows, "i=3", "E=5,2");
  ASSERT_TRUE(b.expression) << b.errors.front();
  const Expression& e = *b.expression;
  EXPECT_EQ(e.tensors[0].name, "T");
  EXPECT_EQ(e.tensors[0].dtype, base::Dtype::kI32);
  EXPECT_THAT(e.tensors[0].shape, ElementsAre(3));
  EXPECT_TRUE(e.notes.empty());
  EXPECT_THAT(result_of(e, {{4, 0, 4}, counted(10)}), ElementsAre(8, 9, 0, 1, 8, 9));
}

TEST(Gather, TakesElementsColumnsAndPages) {
  const auto values = [](const std::string& op, const std::string& size, const std::string& shape, Values table,
                         std::size_t elements) {
    const Built b = build(op, size, shape);
    if (!b.expression) return Values{};
    return result_of(*b.expression, {std::move(table), counted(elements)});
  };
  EXPECT_THAT(values("O[i] = E[T[i]]", "i=3", "E=4", {3, 3, 1}, 4), ElementsAre(3, 3, 1));
  EXPECT_THAT(values("O[k,i] = E[k,T[i]]", "i=2,k=2", "E=2,3", {2, 0}, 6), ElementsAre(2, 0, 5, 3));
  EXPECT_THAT(values("O[i,j] = E[i,T[i,j]]", "i=2,j=2", "E=2,3", {2, 0, 1, 1}, 6), ElementsAre(2, 0, 4, 4));
  EXPECT_THAT(values("K[t] = P[T[t/2],t%2]", "t=4", "P=3,2;T=2", {2, 0}, 6), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(values("S[i] +=! E[T[i,k]]", "i=2,k=2", "E=4", {3, 1, 0, 2}, 4), ElementsAre(4, 2));
  // Beside other reads; the table as a value too.
  EXPECT_THAT(values("O[i] = E[T[i]] * T[i] + 1", "i=2", "E=4", {3, 1}, 4), ElementsAre(10, 2));
}

TEST(Gather, IsZeroWhereTheTableIsReadOutsideIt) {
  const Built b = build("O[i] = E[T[i-1]]", "i=3", "E=4;T=2");
  ASSERT_TRUE(b.expression);
  EXPECT_THAT(result_of(*b.expression, {{1, 2}, {5, 6, 7, 8}}), ElementsAre(0, 6, 7));
}

TEST(Gather, NamesAnIndexThatIsNone) {
  const Built b = build(kRows, "i=3", "E=5,2");
  for (const double wrong : {5.0, -1.0}) try {
      result_of(*b.expression, {{4, 0, wrong}, counted(10)});
      ADD_FAILURE() << wrong;
    } catch (const IndexError& e) {
      EXPECT_THAT(e.what(), HasSubstr(fmt::format(
                                "element 2 of 'T' is {}, and dimension 1 of 'E' has the indices 0 to 4", wrong)));
    }
}

TEST(Gather, IsAFactorOfProducts) {
  const Built b = build("C[m,n] +=! A[T[m],k] * B[k,n]", "m=2,n=2,k=2", "A=3,2");
  ASSERT_TRUE(b.expression) << b.errors.front();
  const Expression& e = *b.expression;
  ASSERT_EQ(e.stages.size(), 1U);
  EXPECT_TRUE(e.notes.empty());
  EXPECT_THAT(result_of(e, {{2, 0}, counted(6), {1, 2, 3, 4}}), ElementsAre(4 * 1 + 5 * 3, 4 * 2 + 5 * 4, 3, 4));
  // Both factors, each by a table of its own.
  const Built both = build("C[m,n] +=! A[T[m],k] * B[k,U[n]]", "m=2,n=2,k=2", "A=3,2;B=2,3");
  ASSERT_TRUE(both.expression) << both.errors.front();
  EXPECT_THAT(result_of(*both.expression, {{2, 0}, counted(6), {1, 1}, counted(6)}),
              ElementsAre(4 * 1 + 5 * 4, 4 * 1 + 5 * 4, 4, 4));
}

TEST(Gather, IsPrintedAsItIsRead) {
  for (const char* op : {"O[i,j] = E[T[i],j]", "O[i,j] = E[T[i],j] * T[i]", "O[i,j] = E[T[i/2],i%2,j]",
                         "U[i] = select(T[i] < 0, T[i] + 5, T[i]); O[i,j] = E[U[i],j] + X[i,j]"}) {
    const Built b = build(op, "i=4,j=2", std::string(op).find('%') == std::string::npos ? "E=5,2" : "E=5,2,2");
    ASSERT_TRUE(b.expression) << op << ": " << b.errors.front();
    std::string refusal;
    const Expression everything = with_everything_inlined(*b.expression);
    for (const Stage& s : everything.stages) EXPECT_NE(s.text.find('['), std::string::npos);
    EXPECT_EQ(everything.stages.size(), b.expression->stages.size()) << op;
  }
}

TEST(Gather, IsInlinedIntoWhatReadsIt) {
  const Built b = build("G[i,j] = E[T[i],j]; O[i,j] = relu(G[i,j])", "i=4,j=2", "E=5,2");
  ASSERT_TRUE(b.expression);
  std::string refusal;
  const auto one = inlined(*b.expression, 0, refusal);
  ASSERT_TRUE(one) << refusal;
  ASSERT_EQ(one->stages.size(), 1U);
  EXPECT_EQ(one->stages[0].text, "O[i,j] = relu(E[T[i],j])");
  // Into a sum too.
  const Built sum = build("G[i,j] = E[T[i],j]; O[i,n] +=! G[i,j] * B[j,n]", "i=4,j=2,n=3", "E=5,2");
  ASSERT_TRUE(sum.expression);
  const auto product = inlined(*sum.expression, 0, refusal);
  ASSERT_TRUE(product) << refusal;
  EXPECT_EQ(product->stages[0].text, "O[i,n] +=! E[T[i],j] * B[j,n]");
  const Built table = build("U[i] = 3 - i; O[i] = E[U[i]]", "i=4", "E=9");
  ASSERT_TRUE(table.expression) << table.errors.front();
  EXPECT_FALSE(inlined(*table.expression, 0, refusal));
  EXPECT_THAT(refusal, HasSubstr("'U' gives coordinates of another tensor"));
}

TEST(Gather, GoesThroughPagesAsThroughOneDimension) {
  const auto rows = [](const std::string& op) {
    const Built b = build(op, "j=8,d=2", "K=5,4,2");
    if (!b.expression) return std::int64_t{0};
    const Stage& s = b.expression->stages.front();
    EXPECT_EQ(b.expression->notes.empty(), page_rows(*b.expression, s, s.reads.back()) > 1) << op;
    return page_rows(*b.expression, s, s.reads.back());
  };
  EXPECT_EQ(rows("O[j,d] = K[T[j/4],j%4,d]"), 4);
  EXPECT_EQ(rows("O[j,d] = K[T[j/2],j%2,d]"), 1) << "a page has four rows";
  EXPECT_EQ(rows("O[j,d] = K[T[j/4],j%2,d]"), 1);
}

TEST(Gather, HasTheDtypesThatAreGiven) {
  EXPECT_EQ(dtypes_text(*typed(kRows, "E=5,2", "f16")), "f16");
  EXPECT_EQ(dtypes_text(*typed(kRows, "E=5,2", "T=i32:sorted")), "f32,T=i32:sorted");
  EXPECT_EQ(dtypes_text(*typed(kRows, "E=5,2", "bf16,T=u8:pages16")), "bf16,T=u8:pages16");
  EXPECT_EQ(dtypes_text(*typed(kRows, "E=5,2", "i8")), "i8") << "the result is no wider for the table";
  EXPECT_EQ(typed(kRows, "E=5,2", "i8")->tensors.back().dtype, base::Dtype::kI8);
  EXPECT_NE(text_of(*typed(kRows, "E=5,2", "T=i32:sorted")), text_of(*typed(kRows, "E=5,2", "T=i32")));
  std::string error;
  EXPECT_FALSE(typed(kRows, "E=5,2", "T=f32", &error));
  EXPECT_THAT(error, HasSubstr("'T' gives coordinates of another tensor: expected integers, got f32"));
  EXPECT_FALSE(typed(kRows, "E=5,2", "E=f16:sorted", &error));
  EXPECT_THAT(error, HasSubstr("'E' gives no coordinates of another tensor"));
  EXPECT_FALSE(typed(kRows, "E=5,2", "T=i32:pages0", &error));
  EXPECT_THAT(error, HasSubstr("uniform, sorted, distinct, even or pages and a number"));
}

TEST(DrawnIndices, AreOfTheirDistribution) {
  constexpr std::int64_t kCount = 4096, kBound = 1000;
  const auto of = [](const std::string& text) {
    return drawn_indices("T", kCount, kBound, index_distribution_of(text).value());
  };
  const std::vector<std::int32_t> uniform = of("uniform"), pages = of("pages10");
  std::vector<std::int32_t> sorted = uniform;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(of("sorted"), sorted);
  EXPECT_EQ(of("uniform"), uniform) << "the same on every call";
  EXPECT_NE(drawn_indices("U", kCount, kBound, {}), uniform);
  for (const auto& all : {uniform, pages}) {
    EXPECT_GE(*std::min_element(all.begin(), all.end()), 0);
    EXPECT_LT(*std::max_element(all.begin(), all.end()), kBound);
  }
  for (std::size_t i = 0; i < pages.size(); ++i)
    EXPECT_EQ(pages[i], pages[i - i % 10] + static_cast<std::int32_t>(i % 10)) << i;
  EXPECT_EQ(pages[0] % 10, 0);
  // n (1 - (1 - 1/n)^m) different ones: 983; the deviation of the count is 4.
  EXPECT_NEAR(static_cast<double>(std::set(uniform.begin(), uniform.end()).size()), 983, 16);
  EXPECT_EQ(of("pages7").back() < kBound, true) << "a page that reaches beyond the bound goes on with 0";
  // Each value before any again; each as often as the others, in order.
  const std::vector<std::int32_t> distinct = of("distinct"), even = of("even");
  for (std::size_t first = 0; first + kBound <= distinct.size(); first += kBound)
    EXPECT_EQ(std::set(distinct.begin() + static_cast<std::ptrdiff_t>(first),
                       distinct.begin() + static_cast<std::ptrdiff_t>(first + kBound))
                  .size(),
              static_cast<std::size_t>(kBound));
  EXPECT_FALSE(std::is_sorted(distinct.begin(), distinct.begin() + kBound));
  EXPECT_TRUE(std::is_sorted(even.begin(), even.end()));
  for (std::int32_t v = 0; v < kBound; ++v) {
    EXPECT_GE(std::count(even.begin(), even.end(), v), kCount / kBound) << v;
    EXPECT_LE(std::count(even.begin(), even.end(), v), kCount / kBound + 1) << v;
  }
  EXPECT_FALSE(index_distribution_of("pages"));
  EXPECT_FALSE(index_distribution_of("pages-1"));
  EXPECT_FALSE(index_distribution_of("page16"));
  for (const char* text : {"uniform", "sorted", "distinct", "even", "pages16"})
    EXPECT_EQ(to_text(index_distribution_of(text).value()), text);
}

}  // namespace
}  // namespace tilescope::tests
