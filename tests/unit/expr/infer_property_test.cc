// SPDX-License-Identifier: Apache-2.0
// Random affine expressions: the shapes that inference finds are those of the elements really touched. rapidcheck
// prints the seed of a failure; RC_PARAMS="seed=..." repeats it.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "expr/extent.h"
#include "expr/infer.h"
#include "expr/reference.h"
#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

constexpr const char* kAxes[] = {"a", "b", "c", "d"};
constexpr std::size_t kAxisCount = 4;

// One read of I as text and as coefficients: rows are dimensions, columns the axes, the last column the offset.
using Rows = std::vector<std::vector<std::int64_t>>;

std::string text_of(const Rows& rows) {
  std::vector<std::string> coordinates;
  for (const auto& row : rows) {
    coordinates.push_back(fmt::format("{}", row[kAxisCount]));
    for (std::size_t a = 0; a < kAxisCount; ++a)
      if (row[a] != 0) coordinates.back() += fmt::format("{:+}*{}", row[a], kAxes[a]);
  }
  return fmt::format("I[{}]", fmt::join(coordinates, ","));
}

std::int64_t value(const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& point) {
  std::int64_t v = row[kAxisCount];
  for (std::size_t a = 0; a < kAxisCount; ++a) v += row[a] * point[a];
  return v;
}

template <class Visit>
void each_point(const std::vector<std::int64_t>& sizes, Visit visit) {
  std::vector<std::int64_t> p(kAxisCount, 0);
  for (p[0] = 0; p[0] < sizes[0]; ++p[0])
    for (p[1] = 0; p[1] < sizes[1]; ++p[1])
      for (p[2] = 0; p[2] < sizes[2]; ++p[2])
        for (p[3] = 0; p[3] < sizes[3]; ++p[3]) visit(p);
}

struct Case {
  std::vector<std::int64_t> sizes;
  std::vector<Rows> reads;

  std::string text() const {
    std::vector<std::string> texts;
    for (const Rows& r : reads) texts.push_back(text_of(r));
    return fmt::format("O[a,b] +=! Z[a,b,c,d] * ({})", fmt::join(texts, "+"));
  }
  std::string size_text() const { return fmt::format("a={},b={},c={},d={}", sizes[0], sizes[1], sizes[2], sizes[3]); }
};

Case any_case() {
  const auto rank = *rc::gen::inRange<std::size_t>(1, 4);
  const auto row = rc::gen::container<std::vector<std::int64_t>>(kAxisCount + 1, rc::gen::inRange<std::int64_t>(-2, 4));
  Case c;
  c.sizes = *rc::gen::container<std::vector<std::int64_t>>(kAxisCount, rc::gen::inRange<std::int64_t>(1, 6));
  c.reads =
      *rc::gen::container<std::vector<Rows>>(*rc::gen::inRange<std::size_t>(1, 4), rc::gen::container<Rows>(rank, row));
  return c;
}

// Highest coordinate plus one by enumeration, at least 1; nothing where no read touches a tensor of that shape.
std::optional<std::vector<std::int64_t>> brute_force_shape(const Case& c) {
  std::vector<std::int64_t> shape(c.reads[0].size(), 1);
  bool touched = false;
  for (const Rows& rows : c.reads)
    each_point(c.sizes, [&](const auto& p) {
      for (std::size_t d = 0; d < rows.size(); ++d) shape[d] = std::max(shape[d], value(rows[d], p) + 1);
    });
  for (const Rows& rows : c.reads) {
    std::vector<bool> inside(rows.size(), false);
    each_point(c.sizes, [&](const auto& p) {
      for (std::size_t d = 0; d < rows.size(); ++d) inside[d] = inside[d] || value(rows[d], p) >= 0;
    });
    touched = touched || std::all_of(inside.begin(), inside.end(), [](bool b) { return b; });
  }
  return touched ? std::optional(shape) : std::nullopt;
}

RC_GTEST_PROP(InferProperty, InputShapeIsTheHighestCoordinatePlusOne, ()) {
  const Case c = any_case();
  RC_LOG() << c.text() << "  " << c.size_text() << '\n';
  const auto built = tests::build(c.text(), c.size_text());
  const auto expected = brute_force_shape(c);
  RC_ASSERT(built.expression.has_value() == expected.has_value());
  if (expected) RC_ASSERT(tests::shape_of(*built.expression, "I") == *expected);
}

// The distinct elements that the visitor sees are those a plain enumeration of the coefficients finds inside.
RC_GTEST_PROP(InferProperty, VisitedElementsAreThoseInside, ()) {
  const Case c = any_case();
  RC_LOG() << c.text() << "  " << c.size_text() << '\n';
  const auto built = tests::build(c.text(), c.size_text());
  if (!built.expression) return;
  const auto shape = tests::shape_of(*built.expression, "I");
  std::multiset<std::int64_t> expected, seen;
  std::set<Rows> distinct(c.reads.begin(), c.reads.end());
  for (const Rows& rows : distinct)
    each_point(c.sizes, [&](const auto& p) {
      std::int64_t element = 0;
      for (std::size_t d = 0; d < rows.size(); ++d) {
        const std::int64_t v = value(rows[d], p);
        if (v < 0 || v >= shape[d]) return;
        element = element * shape[d] + v;
      }
      expected.insert(element);
    });
  visit_reads(*built.expression, 0, [&](std::size_t read, std::int64_t element) {
    if (read > 0) seen.insert(element);  // read 0 is Z
  });
  RC_ASSERT(seen == expected);
}

RC_GTEST_PROP(InferProperty, SpansOfDivisionsHoldEveryValue, ()) {
  Coordinate c;
  c.terms = {{0, *rc::gen::inRange<std::int64_t>(-5, 6)}, {1, *rc::gen::inRange<std::int64_t>(-5, 6)}};
  c.offset = *rc::gen::inRange<std::int64_t>(-20, 20);
  const bool divide = *rc::gen::arbitrary<bool>();
  (divide ? c.divisor : c.modulus) = *rc::gen::inRange<std::int64_t>(1, 9);
  const std::vector<std::int64_t> sizes = {*rc::gen::inRange<std::int64_t>(1, 7),
                                           *rc::gen::inRange<std::int64_t>(1, 7)};
  const auto span = span_of(c, sizes);
  RC_ASSERT(span.has_value());
  std::set<std::int64_t> values;
  for (std::int64_t i = 0; i < sizes[0]; ++i)
    for (std::int64_t j = 0; j < sizes[1]; ++j) values.insert(value_at(c, {i, j}));
  RC_ASSERT(span->low <= *values.begin());
  RC_ASSERT(span->high >= *values.rbegin());
  if (divide) RC_ASSERT((*span == Span{*values.begin(), *values.rbegin()}));
}

}  // namespace
}  // namespace tilescope::expr
