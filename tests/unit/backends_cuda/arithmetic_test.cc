// SPDX-License-Identifier: Apache-2.0
// Arithmetic of every kind and dtype as the emitted text does it on the CPU, against expr/reference.h.

#include <bit>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "backends/cuda/emit.h"
#include "backends/cuda/host_run.h"
#include "expr/element_bytes.h"
#include "expr/reference.h"
#include "lower/interpret.h"
#include "tests/support/build.h"
#include "tests/support/float8_codes.h"
#include "tests/unit/backends_cuda/samples.h"

namespace tilescope::cuda {
namespace {

using base::Dtype;
using expr::Function;
using expr::NodeKind;
using expr::Reducer;

// O[i] = body(X[i], Y[i]), or O[i] (reducer)= it from `begin` on; a thread an element.
struct Formula {
  std::string name;
  Dtype in = Dtype::kF32, out = Dtype::kF32;
  std::vector<expr::Node> body;
  Reducer reducer = Reducer::kNone;
  double begin = 0;
};

lower::Module elementwise(const Formula& f, std::int64_t elements) {
  tests::KernelMaker k("elementwise", (elements + 63) / 64, 64);
  k.module().scalars = {"alpha"};
  const int x = k.global("X", elements, lower::Role::kInput, f.in);
  const int y = k.global("Y", elements, lower::Role::kInput, f.in);
  const int o = k.global("O", elements, lower::Role::kOutput, f.out);
  const int xs = k.registers("x", 1, f.in), ys = k.registers("y", 1, f.in), os = k.registers("o", 1, f.out);
  const tests::Affine i = k.block() * 64 + k.thread();
  const std::vector<lower::Guard> when = {{i, elements}};
  tests::Body body;
  body.push_back(tests::copy(xs, {}, x, i, 1, {}, when));
  body.push_back(tests::copy(ys, {}, y, i, 1, {}, when));
  body.push_back(tests::compute({os, {}}, Reducer::kNone, {tests::number(f.begin)}, {}));
  body.push_back(tests::compute({os, {}}, f.reducer, f.body, {{xs, {}}, {ys, {}}}));
  body.push_back(tests::copy(o, i, os, {}, 1, when));
  return k.finish(std::move(body));
}

// A formula and what it has to give; `tolerance` is relative, and 0 asks for equal bits but for signs of zero.
struct Case {
  Formula formula;
  expr::Values x, y, expected;
  double tolerance = 0;
};

void expect_near(const expr::Values& got, const Case& c) {
  SCOPED_TRACE(c.formula.name + " of " + std::string(base::name_of(c.formula.in)) + " to " +
               std::string(base::name_of(c.formula.out)));
  ASSERT_EQ(got.size(), c.expected.size());
  int wrong = 0;
  for (std::size_t i = 0; i < got.size() && wrong < 5; ++i) {
    const double e = c.expected[i];
    if (std::isnan(e) ? std::isnan(got[i]) : got[i] == e || std::fabs(got[i] - e) <= c.tolerance * std::fabs(e))
      continue;
    ++wrong;
    ADD_FAILURE() << "element " << i << ": " << got[i] << " instead of " << e;
  }
}

// Runs all formulas; they are compiled together.
void check(const std::vector<Case>& cases) {
  HostCompiler host(tests::chip("v100"));
  if (const auto why = host.why_unsupported()) GTEST_SKIP() << *why;
  for (const Case& c : cases) host.add(elementwise(c.formula, static_cast<std::int64_t>(c.x.size())));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const HostResult r = host.run(static_cast<int>(i), {HostBuild::kValues, 1, {0.25}, {cases[i].x, cases[i].y, {}}});
    ASSERT_EQ(r.error, "") << cases[i].formula.name;
    expect_near(r.globals.back(), cases[i]);
  }
}

std::vector<expr::Node> binary(NodeKind kind) {
  return {tests::operand(0), tests::operand(1), tests::node(kind, 0, 1)};
}

expr::Values rounded(Dtype dtype, expr::Values values) {
  for (double& v : values) v = expr::round_to(dtype, v);
  return values;
}

expr::Values every_half() {
  std::string bytes;
  for (unsigned b = 0; b < 65536; ++b) bytes += {static_cast<char>(b & 255U), static_cast<char>(b >> 8)};
  return expr::from_bytes(Dtype::kF16, bytes);
}

// Values around every boundary of rounding to 16 bits: each half, and its neighbours and midpoints in f32.
expr::Values around_halves() {
  expr::Values out;
  for (const double h : every_half()) {
    if (std::isnan(h)) continue;
    const auto f = static_cast<float>(h);
    const float next = std::nextafter(f, INFINITY);
    out.insert(out.end(), {h, next, h + std::fabs(h) * 0x1p-11, h * 0x1.004p0});
  }
  for (double& v : out) v = expr::round_to(Dtype::kF32, v);
  return out;
}

TEST(Arithmetic, SixteenBitFloatsAreRoundedAndReadAsTheReferenceDoes) {
  const expr::Values x = around_halves(), h = every_half(), b = rounded(Dtype::kBf16, x);
  const std::vector<expr::Node> same = {tests::operand(0)};
  check({{{"rounding", Dtype::kF32, Dtype::kF16, same}, x, x, rounded(Dtype::kF16, x)},
         {{"rounding", Dtype::kF32, Dtype::kBf16, same}, x, x, b},
         {{"reading", Dtype::kF16, Dtype::kF32, same}, h, h, h},
         {{"reading", Dtype::kBf16, Dtype::kF32, same}, b, b, b}});
}

// Values of f32 around some that tf32 has, among them the greatest and what is no number: the value, its neighbours,
// and the middle between two.
expr::Values around_tf32() {
  std::vector<std::uint32_t> kept = {0x3fbff, 0x3fc00, 0x3fe00, 0x7fbff, 0x7fc00};
  for (std::uint32_t bits = 0; bits < 1U << 19; bits += 1021) kept.push_back(bits);
  expr::Values out;
  for (const std::uint32_t bits : kept)
    for (const std::uint32_t rest : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x1fffU})
      out.push_back(double{std::bit_cast<float>(bits << 13 | rest)});
  return out;
}

TEST(Arithmetic, Tf32IsRoundedAndReadAsTheReferenceDoes) {
  const expr::Values x = around_tf32(), t = rounded(Dtype::kTf32, x);
  const std::vector<expr::Node> same = {tests::operand(0)};
  check({{{"rounding", Dtype::kF32, Dtype::kTf32, same}, x, x, t},
         {{"reading", Dtype::kTf32, Dtype::kF32, same}, t, t, t}});
}

// Every half, every bf16, and random floats around the ranges of 8 bits.
expr::Values many_floats() {
  expr::Values out = every_half();
  for (std::uint32_t bits = 0; bits < 1U << 16; ++bits) out.push_back(double{std::bit_cast<float>(bits << 16)});
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i)
    out.push_back(std::ldexp(double(random()) - 0x1p31, static_cast<int>(random() % 40) - 50));
  for (double& v : out) v = static_cast<float>(v);
  return out;
}

TEST(Arithmetic, EightBitFloatsAreRoundedAndReadAsTheirTableSays) {
  HostCompiler host(tests::chip("v100"));
  if (const auto why = host.why_unsupported()) GTEST_SKIP() << *why;
  const expr::Values x = many_floats();
  const std::vector<expr::Node> same = {tests::operand(0)};
  std::string codes;
  for (int c = 0; c < 256; ++c) codes += static_cast<char>(c);
  for (const tests::Float8Format& f : tests::kFloat8Formats) {
    host.add(elementwise({"rounding", Dtype::kF32, f.dtype, same}, std::ssize(x)));
    host.add(elementwise({"reading", f.dtype, Dtype::kF32, same}, 256));
  }
  int id = 0;
  for (const tests::Float8Format& f : tests::kFloat8Formats) {
    SCOPED_TRACE(base::name_of(f.dtype));
    const tests::Float8Table table(f);
    const HostResult to = host.run(id++, {HostBuild::kValues, 1, {0.25}, {x, x, {}}});
    ASSERT_EQ(to.error, "");
    std::string expected;
    for (const double v : x) expected += static_cast<char>(table.nearest(v));
    const std::string got = expr::to_bytes(f.dtype, to.globals.back());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(got[i] == expected[i]) << x[i] << ": " << int(got[i]) << " instead of " << int(expected[i]);
    const expr::Values all = expr::from_bytes(f.dtype, codes);
    const HostResult from = host.run(id++, {HostBuild::kValues, 1, {0.25}, {all, all, {}}});
    ASSERT_EQ(from.error, "");
    for (int c = 0; c < 256; ++c) {
      const double value = from.globals.back()[static_cast<std::size_t>(c)];
      EXPECT_TRUE(std::isnan(table.value(c)) ? std::isnan(value) : value == table.value(c)) << c << ": " << value;
    }
  }
}

// From every dtype to every other one.
TEST(Arithmetic, EveryDtypeBecomesEveryOther) {
  std::vector<Case> cases;
  for (const base::DtypeName& from : base::kDtypes)
    for (const base::DtypeName& to : base::kDtypes) {
      const expr::Values x = rounded(from.dtype, {0, -1, 2.5, 126, -129, 300, 1e4, 1e5, 0x1p-10});
      cases.push_back({{"move", from.dtype, to.dtype, {tests::operand(0)}}, x, x, rounded(to.dtype, x)});
    }
  check(cases);
}

// Where the nearest float of a double is the middle of two values, and the double itself is not.
TEST(Arithmetic, DoublesAreRoundedOnce) {
  std::vector<Case> cases;
  for (const Dtype to : {Dtype::kF32, Dtype::kTf32, Dtype::kF16, Dtype::kBf16, Dtype::kF8E4M3, Dtype::kF8E5M2,
                         Dtype::kF8E4M3Fnuz, Dtype::kF8E5M2Fnuz, Dtype::kF64}) {
    expr::Values x = {1e300, -1e300, 0x1p-1074, 0.1, INFINITY, -INFINITY, NAN, 0};
    for (const double digits : {2.0, 3.0, 4.0, 8.0, 11.0, 24.0})
      for (const double off : {0.0, 0x1p-45, -0x1p-45})
        for (const double size : {1.0, 1.5, 0x1p-7, 0x1p-10, 0x1p-15})
          x.push_back(size * (1 + std::exp2(-digits) + off));
    cases.push_back({{"rounding", Dtype::kF64, to, {tests::operand(0)}}, x, x, rounded(to, x)});
  }
  check(cases);
}

// Bodies of f64, of a few random operators: the text on the CPU and the interpreter give the same bits, where products
// that are added are not rounded before.
TEST(Arithmetic, BodiesOfF64AreThoseOfTheInterpreterBitByBit) {
  HostCompiler host(tests::chip("v100"));
  if (const auto why = host.why_unsupported()) GTEST_SKIP() << *why;
  constexpr int kBodies = 24, kElements = 64;
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<lower::Module> modules;
  for (int b = 0; b < kBodies; ++b) {
    std::vector<expr::Node> body = {tests::operand(0), tests::operand(1), tests::scalar(0), tests::number(0.3)};
    for (int n = 0; n < 6; ++n) {
      const int left = below(static_cast<int>(body.size())), right = below(static_cast<int>(body.size()));
      const NodeKind kinds[] = {NodeKind::kAdd, NodeKind::kSubtract, NodeKind::kMultiply, NodeKind::kMultiply,
                                NodeKind::kDivide};
      body.push_back(below(6) == 0 ? tests::call(Function::kMax, left, right)
                                   : tests::node(kinds[below(5)], left, right));
    }
    const Reducer reducers[] = {Reducer::kNone, Reducer::kSum, Reducer::kMax};
    const Reducer reducer = reducers[below(3)];
    modules.push_back(elementwise({"body", Dtype::kF64, Dtype::kF64, body, reducer, 0.7}, kElements));
    host.add(modules.back());
  }
  expr::Values x, y;
  for (int i = 0; i < kElements; ++i) {
    x.push_back(double(random()) / 0x1p31 - 1);
    y.push_back(double(random()) / 0x1p30 - 2);
  }
  for (int b = 0; b < kBodies; ++b) {
    std::vector<expr::Values> globals = {x, y, {}};
    lower::interpret(modules[static_cast<std::size_t>(b)], {0.1}, globals);
    const HostResult r = host.run(b, {HostBuild::kValues, 1, {0.1}, {x, y, {}}});
    ASSERT_EQ(r.error, "");
    EXPECT_EQ(expr::to_bytes(Dtype::kF64, r.globals.back()), expr::to_bytes(Dtype::kF64, globals.back()))
        << emit(modules[static_cast<std::size_t>(b)])
               .text.substr(emit(modules[static_cast<std::size_t>(b)]).kernels_begin);
  }
}

TEST(Arithmetic, IntegersSaturateAndRoundToEven) {
  const expr::Values x =
      rounded(Dtype::kF32, {0,    0.5,    1.5,  2.5, -0.5, -1.5,       -2.5,     126.5,    127.5,     1e6,
                            -1e6, -128.5, -129, 3e9, -3e9, 2147483520, 16777217, INFINITY, -INFINITY, NAN});
  std::vector<Case> cases;
  for (const Dtype to : {Dtype::kI8, Dtype::kI32})
    cases.push_back({{"rounding", Dtype::kF32, to, {tests::operand(0)}}, x, x, rounded(to, x)});
  check(cases);
}

TEST(Arithmetic, IntegersWrap) {
  constexpr double kMaxValue = 2147483647, kMinValue = -2147483648.0;
  const auto add = [](const std::string& name, std::vector<expr::Node> body, expr::Values expected,
                      Reducer reducer = Reducer::kNone) {
    return Case{{name, Dtype::kI32, Dtype::kI32, std::move(body), reducer, reducer == Reducer::kSum ? kMaxValue : 0},
                {kMaxValue, kMinValue, 65536},
                {kMaxValue, -1, 65537},
                std::move(expected)};
  };
  check({add("sum", binary(NodeKind::kAdd), {-2, kMaxValue, 131073}),
         add("difference", binary(NodeKind::kSubtract), {0, kMinValue + 1, -1}),
         add("product", binary(NodeKind::kMultiply), {1, kMinValue, 65536}),
         add("negation", {tests::operand(0), tests::node(NodeKind::kNegate, 0)}, {-kMaxValue, kMinValue, -65536}),
         add("magnitude", {tests::operand(0), tests::call(Function::kAbs, 0)}, {kMaxValue, kMinValue, 65536}),
         add("sum of products", binary(NodeKind::kMultiply), {kMinValue, -1, kMinValue + 65535}, Reducer::kSum)});
}

TEST(Arithmetic, LargeIntegersDivideExactly) {
  check({{{"quotient", Dtype::kI32, Dtype::kI32, binary(NodeKind::kDivide)},
          {2147483647, -2147483647, 16777217},
          {1, 3, 1},
          {2147483647, -715827882, 16777217}}});
}

struct Known {
  Function function;
  double (*value)(double, double);
};
const std::vector<Known> kFunctions = {
    {Function::kExp, [](double a, double) { return std::exp(a); }},
    {Function::kLog, [](double a, double) { return std::log(a); }},
    {Function::kSqrt, [](double a, double) { return std::sqrt(a); }},
    {Function::kRsqrt, [](double a, double) { return 1 / std::sqrt(a); }},
    {Function::kTanh, [](double a, double) { return std::tanh(a); }},
    {Function::kSigmoid, [](double a, double) { return 1 / (1 + std::exp(-a)); }},
    {Function::kErf, [](double a, double) { return std::erf(a); }},
    {Function::kRelu, [](double a, double) { return std::fmax(a, 0); }},
    {Function::kAbs, [](double a, double) { return std::fabs(a); }},
    {Function::kMax, [](double a, double b) { return std::fmax(a, b); }},
    {Function::kMin, [](double a, double b) { return std::fmin(a, b); }},
    {Function::kPow, [](double a, double b) { return std::pow(a, b); }},
    {Function::kSin, [](double a, double) { return std::sin(a); }},
    {Function::kCos, [](double a, double) { return std::cos(a); }},
    {Function::kFloor, [](double a, double) { return std::floor(a); }},
    {Function::kCeil, [](double a, double) { return std::ceil(a); }},
    {Function::kRound, [](double a, double) { return std::nearbyint(a); }},
    {Function::kSign, [](double a, double) { return double((a > 0) - (a < 0)); }},
    {Function::kLess, [](double a, double b) { return double(a < b); }},
    {Function::kLessEqual, [](double a, double b) { return double(a <= b); }},
    {Function::kGreater, [](double a, double b) { return double(a > b); }},
    {Function::kGreaterEqual, [](double a, double b) { return double(a >= b); }},
    {Function::kEqual, [](double a, double b) { return double(a == b); }},
    {Function::kNotEqual, [](double a, double b) { return double(a != b); }},
    {Function::kAnd, [](double a, double b) { return double(a != 0 && b != 0); }},
    {Function::kOr, [](double a, double b) { return double(a != 0 || b != 0); }},
    {Function::kNot, [](double a, double) { return double(a == 0); }},
    {Function::kMod, [](double a, double b) { return a - std::floor(a / b) * b; }},
};

expr::Values of_each(double (*value)(double, double), const expr::Values& x, const expr::Values& y) {
  expr::Values out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(value(x[i], y[i]));
  return out;
}

TEST(Arithmetic, FunctionsAreThoseOfTheReference) {
  constexpr double kUnits = 4 * 0x1p-24;  // a few units in the last place: compilers' libraries differ by as much
  const expr::Values x = {1, 2, 3, 4, 7, 9}, y = {1, -2, 1, 5, 2, -7};
  std::vector<Case> cases;
  for (const auto& [function, value] : kFunctions) {
    const bool two = expr::arity(function) == 2;
    const std::vector<expr::Node> body = {tests::operand(0), tests::operand(1), tests::call(function, 0, two ? 1 : -1)};
    for (const Dtype in : {Dtype::kF32, Dtype::kF16, Dtype::kI8, Dtype::kI32})
      cases.push_back({{"function " + std::to_string(static_cast<int>(function)), in, Dtype::kF32, body},
                       x,
                       y,
                       of_each(value, x, y),
                       kUnits});
    cases.push_back({{"function of f64", Dtype::kF64, Dtype::kF64, body}, x, y, of_each(value, x, y), 4 * 0x1p-53});
  }
  check(cases);
}

TEST(Arithmetic, OperatorsAndReducersOfEveryDtype) {
  const expr::Values numbers = {6, -4, 9, 12, 7, -5}, others = {2, 4, -3, 5, 7, 1};
  std::vector<Case> cases;
  for (const base::DtypeName& d : base::kDtypes) {
    const Dtype dtype = d.dtype;
    const expr::Values x = rounded(dtype, numbers), y = rounded(dtype, others);
    const Dtype to = base::default_accumulator(dtype);
    const auto add = [&](const std::string& name, std::vector<expr::Node> body, double (*value)(double, double),
                         Reducer reducer = Reducer::kNone, double begin = 0) {
      cases.push_back({{name, dtype, to, std::move(body), reducer, begin}, x, y, rounded(to, of_each(value, x, y))});
    };
    add("sum", binary(NodeKind::kAdd), [](double a, double b) { return a + b; });
    add("difference", binary(NodeKind::kSubtract), [](double a, double b) { return a - b; });
    add("quotient", binary(NodeKind::kDivide), [](double a, double b) { return a / b; });
    add("negation", {tests::operand(0), tests::node(NodeKind::kNegate, 0)}, [](double a, double) { return -a; });
    add("sum of products", binary(NodeKind::kMultiply), [](double a, double b) { return 3 + a * b; }, Reducer::kSum, 3);
    add("sum of sums", binary(NodeKind::kAdd), [](double a, double b) { return 3 + (a + b); }, Reducer::kSum, 3);
    add("greatest", {tests::operand(0)}, [](double a, double) { return a; }, Reducer::kMax, -INFINITY);
    add("least", {tests::operand(0)}, [](double a, double) { return std::fmin(a, 5); }, Reducer::kMin, 5);
    add("scaled", {tests::operand(0), tests::scalar(0), tests::node(NodeKind::kMultiply, 0, 1)},
        [](double a, double) { return a * 0.25; });
  }
  check(cases);
}

// The line of a formula's arithmetic.
std::string line(const Formula& f) {
  const std::string text = emit(elementwise(f, 64)).text;
  const std::size_t begin = text.rfind("  o[0] ");
  return text.substr(begin + 2, text.find('\n', begin) - begin - 2);
}

TEST(ArithmeticText, IsWhatAPersonWouldWrite) {
  const auto x = tests::operand(0), y = tests::operand(1);
  const auto node = [](NodeKind kind, int a, int b = -1) { return tests::node(kind, a, b); };
  EXPECT_EQ(line({"", Dtype::kF32, Dtype::kF32, binary(NodeKind::kMultiply), Reducer::kSum}),
            "o[0] = fmaf(x[0], y[0], o[0]);");
  EXPECT_EQ(line({"", Dtype::kI8, Dtype::kI32, binary(NodeKind::kMultiply), Reducer::kSum}), "o[0] += x[0] * y[0];");
  EXPECT_EQ(line({"", Dtype::kF32, Dtype::kF32, {x, y, node(NodeKind::kAdd, 0, 1), x, node(NodeKind::kDivide, 3, 2)}}),
            "o[0] = x[0] / (x[0] + y[0]);");
  EXPECT_EQ(
      line({"", Dtype::kF32, Dtype::kF32, {x, y, node(NodeKind::kMultiply, 0, 1), x, node(NodeKind::kSubtract, 3, 2)}}),
      "o[0] = fmaf(-x[0], y[0], x[0]);");
  EXPECT_EQ(line({"", Dtype::kF32, Dtype::kF32, {x, node(NodeKind::kNegate, 0), node(NodeKind::kNegate, 1)}}),
            "o[0] = -(-x[0]);");
  EXPECT_EQ(line({"", Dtype::kF32, Dtype::kF32, {x}, Reducer::kMax}), "o[0] = fmaxf(o[0], x[0]);");
  EXPECT_EQ(line({"", Dtype::kF32, Dtype::kF32, {tests::number(0.1)}}), "o[0] = 0.1f;");
  EXPECT_EQ(line({"", Dtype::kF32, Dtype::kF32, {tests::number(-INFINITY)}}), "o[0] = -infinity();");
  EXPECT_EQ(line({"", Dtype::kF32, Dtype::kI8, {x}}), "o[0] = to_i8(x[0]);");
  EXPECT_EQ(line({"", Dtype::kF8E4M3, Dtype::kF32, binary(NodeKind::kMultiply), Reducer::kSum}),
            "o[0] = fmaf(x[0], y[0], o[0]);");
  EXPECT_EQ(line({"", Dtype::kF64, Dtype::kF64, binary(NodeKind::kMultiply), Reducer::kSum}),
            "o[0] = fma(x[0], y[0], o[0]);");
  EXPECT_EQ(line({"", Dtype::kF64, Dtype::kF64, {x, tests::scalar(0), node(NodeKind::kMultiply, 0, 1)}}),
            "o[0] = x[0] * alpha;");
  EXPECT_EQ(line({"", Dtype::kF64, Dtype::kF8E5M2, {x}}), "o[0] = f8e5m2(to_odd(x[0]));");
  EXPECT_EQ(line({"", Dtype::kI32, Dtype::kI32, binary(NodeKind::kDivide)}),
            "o[0] = to_i32(double(x[0]) / double(y[0]));");
}

}  // namespace
}  // namespace tilescope::cuda
