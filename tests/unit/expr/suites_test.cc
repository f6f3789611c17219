// SPDX-License-Identifier: Apache-2.0
#include "expr/suites.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expr/parse.h"
#include "expr/scale.h"
#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

// Every operator of a suite by its id, inferred.
std::map<std::string, Expression> built(std::string_view suite) {
  base::Diagnostics diags;
  const auto operators = load_suite(suite, base::Dtype::kF32, diags);
  std::map<std::string, Expression> out;
  if (operators)
    for (const SuiteOperator& op : *operators)
      if (auto e = build(op.problem, diags)) out.emplace(op.id, std::move(*e));
  EXPECT_THAT(diags.formatted_errors(), testing::IsEmpty());
  return out;
}

TEST(Suites, RollerHasThe119Operators) {
  base::Diagnostics diags;
  const auto operators = load_suite("roller", base::Dtype::kF32, diags);
  ASSERT_TRUE(operators) << diags.formatted_errors().front();
  std::map<std::string, int> kinds;
  for (const SuiteOperator& op : *operators) ++kinds[op.kind];
  const std::map<std::string, int> expected = {{"conv", 44},  {"depthwise", 23}, {"elementwise", 28},
                                               {"matmul", 7}, {"pool", 13},      {"reduction", 4}};
  EXPECT_EQ(kinds, expected);
  EXPECT_EQ(operators->front().id, "C0");
  EXPECT_EQ(operators->back().id, "R3");
}

TEST(Suites, EveryOperatorOfRollerIsInferred) {
  const auto all = built("roller");
  ASSERT_EQ(all.size(), 119U);
  EXPECT_THAT(tests::shape_of(all.at("C35"), "I"), testing::ElementsAre(128, 3, 230, 230));
  EXPECT_THAT(tests::shape_of(all.at("D0"), "W"), testing::ElementsAre(84, 5, 5));
  EXPECT_THAT(tests::shape_of(all.at("M6"), "B"), testing::ElementsAre(30522, 1024));
  EXPECT_THAT(tests::shape_of(all.at("P8"), "O"), testing::ElementsAre(258048, 11, 11));
}

// The small, irregular and scaled operators are those of the main suite, or grow from them.
TEST(Suites, TheOthersOfRollerAreOfItsOperators) {
  const auto roller = built("roller");
  const auto same = [](const Expression& a, const Expression& b) {
    return a.stages[0].text == b.stages[0].text && tests::shape_of(a, "I") == tests::shape_of(b, "I") &&
           tests::shape_of(a, "O") == tests::shape_of(b, "O");
  };
  const auto irregular = built("roller-irregular");
  EXPECT_EQ(irregular.size(), 6U);
  for (const auto& [id, e] : irregular) EXPECT_TRUE(same(e, roller.at(id.substr(4)))) << id;
  const auto scaleout = built("roller-scaleout");
  EXPECT_EQ(scaleout.size(), 20U);
  EXPECT_TRUE(same(scaleout.at("SC0"), roller.at("C30")));
  for (const char* id : {"SMALL_M1", "SMALL_M2"}) {
    const Expression e = built("roller-small").at(id);
    EXPECT_EQ(tests::shape_of(e, "A"), tests::shape_of(roller.at(std::string(id).substr(6)), "A")) << id;
    EXPECT_EQ(tests::shape_of(e, "B"), tests::shape_of(roller.at(std::string(id).substr(6)), "B")) << id;
  }
  const auto tensorcore = built("roller-tensorcore");
  EXPECT_EQ(tensorcore.size(), 4U);
  EXPECT_EQ(tests::shape_of(tensorcore.at("TC2"), "B"), tests::shape_of(roller.at("M5"), "B"));
}

TEST(Suites, RollersWindowsFitTheirInputs) {
  // The last window of each strided axis ends within the padded input: what VALID and SAME mean. C38 alone does not
  // (expr/suites/roller.yaml says why).
  for (const auto& [id, e] : built("roller")) {
    const Stage& s = e.stages[0];
    for (const Coordinate& c : s.reads[0].at) {
      if (c.terms.size() < 2) continue;
      const auto d = std::size_t(&c - s.reads[0].at.data());
      std::int64_t high = c.offset;
      for (const Term& t : c.terms) high += t.coefficient * (s.axes[std::size_t(t.axis)].size - 1);
      const std::int64_t extent = e.tensors[std::size_t(s.reads[0].tensor)].shape[d];
      EXPECT_EQ(high <= extent - 1 - c.offset, id != "C38") << id;
    }
  }
}

TEST(Suites, EveryExampleIsInferred) {
  const auto all = built("examples");
  EXPECT_THAT(all, testing::SizeIs(11));
  EXPECT_EQ(all.at("softmax").stages.size(), 4U);
  EXPECT_EQ(all.at("layernorm").stages.size(), 3U);
  EXPECT_THAT(tests::shape_of(all.at("blur"), "I"), testing::ElementsAre(4096, 4096));
  EXPECT_THAT(all.at("sgemm").scalars, testing::ElementsAre("alpha", "beta"));
}

// Bytes of all tensors of an expression, as if every stage were a kernel of its own.
std::int64_t bytes_of(const Expression& e) {
  std::int64_t bytes = 0;
  for (const Tensor& t : e.tensors) bytes += t.elements() * base::size_of(t.dtype).n;
  return bytes;
}

TEST(Suites, FusedHasThirtyOfSeveralStages) {
  base::Diagnostics diags;
  const auto operators = load_suite("fused", {}, diags);
  ASSERT_TRUE(operators) << diags.formatted_errors().front();
  EXPECT_EQ(operators->size(), 30U);
  for (const SuiteOperator& op : *operators) {
    const auto e = build(op.problem, diags);
    ASSERT_TRUE(e) << op.id << ": " << diags.formatted_errors().front();
    EXPECT_GE(e->stages.size(), 2U) << op.id;
    EXPECT_FALSE(op.kind.empty()) << op.id;
    EXPECT_LE(bytes_of(*e), 13'200'000'000) << op.id << ": the file says how much memory its operators take";
  }
}

// What verification needs: plain loops run through every stage in a moment, and reductions stay reductions.
TEST(Suites, FusedScalesDown) {
  constexpr std::int64_t kPoints = 1 << 17;
  base::Diagnostics diags;
  const auto operators = load_suite("fused", {}, diags);
  ASSERT_TRUE(operators) << diags.formatted_errors().front();
  for (const SuiteOperator& op : *operators) {
    const auto whole = build(op.problem, diags);
    const auto problem = scaled_down(op.problem, kPoints, diags);
    ASSERT_TRUE(whole && problem) << op.id;
    const auto small = build(*problem, diags);
    ASSERT_TRUE(small) << op.id << ": " << diags.formatted_errors().front();
    ASSERT_EQ(small->stages.size(), whole->stages.size()) << op.id;
    for (const Stage& s : small->stages) {
      std::int64_t points = 1;
      for (const Axis& a : s.axes) {
        points *= a.size;
        EXPECT_TRUE(!a.reduction || a.size > 1) << op.id << " " << a.name;
      }
      EXPECT_LE(points, kPoints) << op.id;
    }
  }
}

TEST(Suites, FusedHasWhatItsAncestorsHave) {
  const auto all = built("fused");
  EXPECT_EQ(all.at("nerf2").stages.size(), 4U);
  EXPECT_EQ(all.at("nerf7").stages.size(), 13U);
  EXPECT_THAT(tests::shape_of(all.at("nerf7"), "O"), testing::ElementsAre(1920 * 1080, 3));
  EXPECT_EQ(all.at("qk_softmax").stages.size(), 5U);
  EXPECT_THAT(tests::shape_of(all.at("qk_softmax"), "S"), testing::ElementsAre(98304, 128));
  EXPECT_THAT(tests::shape_of(all.at("attention_128"), "S"), testing::ElementsAre(12, 128, 128));
  EXPECT_THAT(tests::shape_of(all.at("decode"), "K"), testing::ElementsAre(32, 16384, 128));
  EXPECT_THAT(tests::shape_of(all.at("pw_dw"), "I"), testing::ElementsAre(64, 24, 56, 56));
  EXPECT_THAT(tests::shape_of(all.at("bottleneck"), "I"), testing::ElementsAre(1, 64, 14, 14));
  EXPECT_THAT(tests::shape_of(all.at("blur"), "B"), testing::ElementsAre(4802, 6400));
}

// A home whose suite `examples` is that text, chosen by $TILESCOPE_HOME for as long as it lives.
class OwnSuite {
 public:
  explicit OwnSuite(std::string_view text) {
    std::filesystem::create_directories(home_ / "expr/suites");
    std::ofstream(path()) << text;
    setenv("TILESCOPE_HOME", home_.c_str(), 1);
  }
  ~OwnSuite() {
    unsetenv("TILESCOPE_HOME");
    std::filesystem::remove_all(home_);
  }
  OwnSuite(const OwnSuite&) = delete;
  OwnSuite& operator=(const OwnSuite&) = delete;

  std::string path() const { return (home_ / "expr/suites/examples.yaml").string(); }

 private:
  std::filesystem::path home_ = fmt::format("{}suites_{}", testing::TempDir(), getpid());
};

TEST(Suites, MistakesNameTheFile) {
  const OwnSuite suite(R"(forms:
  copy:
    kind: copy
    op: O[i] = I[j]
operators:
  - {id: a, of: cpoy, sizes: {i: 4}}
  - {id: b, of: copy, sizes: {i: x}, shape: {I: [4]}}
  - {id: b, of: copy, sizes: {i: 4}}
)");
  base::Diagnostics diags;
  EXPECT_FALSE(load_suite("examples", base::Dtype::kF32, diags));
  const std::string& at = suite.path();
  EXPECT_THAT(diags.formatted_errors(),
              testing::ElementsAre(at + ":4:18: axis 'j' is not an index of the output; sum over it with '+=!'",
                                   at + ":6:17: there is no form 'cpoy'; did you mean 'copy'?",
                                   at + ":7:34: the variable 'x' has no value; give it one by --size x=N, or a default "
                                        "under 'variables'",
                                   at + ":7:38: unknown key 'shape' in an operator; did you mean 'shapes'?",
                                   at + ":8:10: the id 'b' is used twice"));
}

// What a suite's own text reads to, with `given` as of --size.
std::optional<Suite> read_text(const std::string& text, const std::vector<GivenSize>& given = {},
                               std::optional<base::Dtype> dtype = {}) {
  base::Diagnostics diags;
  auto suite = read_suite_text(text, "s.yaml", dtype, given, diags);
  EXPECT_THAT(diags.formatted_errors(), testing::IsEmpty());
  return suite;
}

std::int64_t size_of(const SuiteOperator& op, std::string_view axis) {
  for (const GivenSize& g : op.problem.sizes)
    if (g.axis == axis) return g.size;
  return -1;
}

constexpr const char* kOwn = R"(dtype: f16
variables: {seq: 128, wide: 4 * seq, layers: 3}
operators:
  - {id: a, op: 'C[m,n] +=! A[m,k] * B[k,n]', sizes: {m: batch * seq, n: wide, k: 64}, count: 2 * layers}
  - {id: b, op: 'O[i] = I[i]', sizes: {i: seq / 2}, shapes: {I: [wide]}, dtype: f32}
)";

TEST(Suites, SizesAreArithmeticOverVariables) {
  const auto suite = read_text(kOwn, {{"batch", 2, {}}, {"seq", 32, {}}});
  ASSERT_TRUE(suite);
  const auto& [a, b] = std::pair(suite->operators[0], suite->operators[1]);
  EXPECT_EQ(size_of(a, "m"), 64);
  EXPECT_EQ(size_of(a, "n"), 128);  // what is given reaches what is made of it
  EXPECT_EQ(size_of(b, "i"), 16);
  EXPECT_THAT(b.problem.shapes.at(0).shape, testing::ElementsAre(128));
  EXPECT_EQ(a.count, 6);
  EXPECT_EQ(b.count, 1);
  std::map<std::string, std::int64_t> values;
  for (const SuiteVariable& v : suite->variables) values[v.name] = v.value;
  const std::map<std::string, std::int64_t> expected = {{"seq", 32}, {"wide", 128}, {"layers", 3}, {"batch", 2}};
  EXPECT_EQ(values, expected);
}

TEST(Suites, AnOperatorsOwnDtypeGoesFirst) {
  for (const auto& [given, of_a] : {std::pair{std::optional<base::Dtype>(), base::Dtype::kF16},
                                    std::pair{std::optional(base::Dtype::kBf16), base::Dtype::kBf16}}) {
    const auto suite = read_text(kOwn, {{"batch", 1, {}}}, given);
    ASSERT_TRUE(suite);
    EXPECT_EQ(suite->operators[0].problem.dtypes.arithmetic, of_a);
    EXPECT_EQ(suite->operators[1].problem.dtypes.arithmetic, base::Dtype::kF32);
  }
}

// The operations of a layer by the usual count of its weights and of its attention, which the file does not have.
TEST(Suites, ATransformerLayersProductsAreThoseOfItsWeights) {
  for (const auto& [kv_heads, seq, batch] : {std::tuple{32, 2048, 1}, std::tuple{8, 512, 4}, std::tuple{1, 64, 3}}) {
    base::Diagnostics diags;
    const auto suite = read_suite("transformer_layer", {},
                                  {{"seq", seq, {}}, {"batch", batch, {}}, {"kv_heads", kv_heads, {}}}, diags);
    ASSERT_TRUE(suite) << diags.formatted_errors().front();
    double operations = 0;
    for (const SuiteOperator& op : suite->operators) {
      const auto e = build(op.problem, diags);
      ASSERT_TRUE(e) << op.id;
      if (op.kind != "matmul") continue;
      double points = 2;
      for (const Axis& a : e->stages.front().axes) points *= static_cast<double>(a.size);
      operations += points * static_cast<double>(op.count);
    }
    const double tokens = double(seq) * batch,
                 weights = 4096.0 * 4096 * 2 + 4096.0 * 128 * 2 * kv_heads + 3 * 4096.0 * 11008;
    EXPECT_DOUBLE_EQ(operations, 2 * tokens * weights + 4.0 * tokens * seq * 4096) << kv_heads;
  }
}

TEST(Suites, MistakesInAnExpressionStandInTheFile) {
  const OwnSuite suite("operators:\n  - id: a\n    kind: copy\n    op: O[i] = I[j]\n    sizes: {i: 4, k: 4}\n");
  base::Diagnostics diags;
  const auto operators = load_suite("examples", base::Dtype::kF32, diags);
  ASSERT_TRUE(operators && operators->size() == 1);
  EXPECT_FALSE(build(operators->front().problem, diags));
  EXPECT_THAT(
      diags.formatted_errors(),
      testing::ElementsAre(suite.path() + ":4:18: axis 'j' is not an index of the output; sum over it with '+=!'"));
}

TEST(Suites, VariablesNestSoDeepAndNoDeeper) {
  const auto errors_of = [](int deep) {
    std::string text = "variables:\n";
    for (int i = 0; i < deep; ++i) text += fmt::format("  v{}: v{} + 1\n", i, i + 1);
    text += fmt::format("  v{}: 1\noperators:\n  - {{id: a, op: 'O[i] = I[i]', sizes: {{i: v0}}}}\n", deep);
    const OwnSuite suite(text);
    base::Diagnostics diags;
    load_suite("examples", base::Dtype::kF32, diags);
    return diags.formatted_errors();
  };
  EXPECT_THAT(errors_of(50), testing::IsEmpty());
  EXPECT_THAT(errors_of(5000), testing::Contains(testing::HasSubstr("more than 100 that are made of each other")));
}

TEST(Suites, UnknownNamesAreAnswered) {
  base::Diagnostics diags;
  EXPECT_FALSE(load_suite("rolle", base::Dtype::kF32, diags));
  EXPECT_THAT(
      diags.formatted_errors(),
      testing::ElementsAre("--suite: unknown suite 'rolle', expected one of roller, roller-scaleout, roller-small, "
                           "roller-irregular, roller-tensorcore, examples, searches, transformer_layer, fused, or "
                           "a file FILE.yaml; did you mean 'roller'?"));
}

}  // namespace
}  // namespace tilescope::expr
