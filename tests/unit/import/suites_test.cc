// SPDX-License-Identifier: Apache-2.0
// Layers keep their loops, strides, dilation and multiply-adds. The numbers of an input are turned into loops here, and
// compared with what our own notation reads of the imported suite.

#include "expr/suites.h"

#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/workload.h"
#include "expr/work.h"
#include "tests/unit/import/import_file.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<api::NamedExpression> operators_of(const importers::Imported& imported) {
  base::Diagnostics diags;
  const auto suite = expr::read_suite_text(imported.text, "suite", std::nullopt, {}, diags);
  std::optional<std::vector<api::NamedExpression>> out;
  if (suite) out = api::expressions_of(*suite, false, diags);
  for (const std::string& line : diags.formatted_errors()) ADD_FAILURE() << line << "\n" << imported.text;
  return out ? std::move(*out) : std::vector<api::NamedExpression>{};
}

std::map<std::string, std::int64_t> sizes_of(const api::NamedExpression& op) {
  std::map<std::string, std::int64_t> out;
  for (const expr::Axis& a : op.expression.stages.at(0).axes) out[a.name] = a.size;
  return out;
}

// The shape of a tensor by its name.
std::vector<std::int64_t> shape_of(const api::NamedExpression& op, std::string_view name) {
  for (const expr::Tensor& t : op.expression.tensors)
    if (t.name == name) return {t.shape.begin(), t.shape.end()};
  return {};
}

// What one coordinate of a read is, at a point of the loops.
std::int64_t coordinate(const api::NamedExpression& op, std::string_view tensor, std::size_t dim,
                        const std::map<std::string, std::int64_t>& point) {
  const expr::Stage& stage = op.expression.stages.at(0);
  for (const expr::Read& r : stage.reads) {
    if (op.expression.tensors[static_cast<std::size_t>(r.tensor)].name != tensor) continue;
    std::int64_t sum = r.at[dim].offset;
    for (const expr::Term& t : r.at[dim].terms)
      sum += t.coefficient * point.at(stage.axes[static_cast<std::size_t>(t.axis)].name);
    return sum;
  }
  throw std::runtime_error("no read");
}

std::mt19937 generator() {
  const auto seed = std::random_device{}();
  testing::Test::RecordProperty("seed", static_cast<int>(seed));
  std::printf("seed %u\n", seed);
  return std::mt19937(seed);
}

std::int64_t draw(std::mt19937& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

TEST(Timeloop, FilesOfEveryVersion) {
  for (const std::string file : {"timeloop_02.yaml", "timeloop_03.yaml", "timeloop_04.yaml"}) {
    const importers::Imported imported = good_import("timeloop", text_of_format_file(file));
    EXPECT_THAT(imported.report.unknown, IsEmpty()) << file;
    EXPECT_EQ(operators_of(imported).size(), 1) << file;
  }
  const auto named = operators_of(good_import("timeloop", text_of_format_file("timeloop_02.yaml")));
  EXPECT_EQ(expr::points_of(named[0].expression), 3. * 5 * 14 * 12 * 32 * 48 * 2);
  EXPECT_THAT(shape_of(named[0], "Inputs"), ElementsAre(2, 32, 13 * 2 + 2 * 2 + 1, 11 * 3 + 4 * 1 + 1));
  const auto product = operators_of(good_import("timeloop", text_of_format_file("timeloop_03.yaml")));
  EXPECT_EQ(expr::points_of(product[0].expression), 6. * 40 * 56 * 72);
  EXPECT_THAT(shape_of(product[0], "Right"), ElementsAre(6, 72, 56));
  const auto depthwise = operators_of(good_import("timeloop", text_of_format_file("timeloop_04.yaml")));
  EXPECT_THAT(shape_of(depthwise[0], "Field"), ElementsAre(24, 9 * 2 + 2 * 3 + 1, 17 * 2 + 2 * 3 + 1));
}

// Random convolutions, their coefficients given or left to their defaults.
TEST(Timeloop, LoopsStridesAndDilation) {
  std::mt19937 random = generator();
  for (int i = 0; i < 60; ++i) {
    std::map<std::string, std::int64_t> n;
    for (const char* d : {"R", "S", "P", "Q", "C", "K", "N"}) n[d] = draw(random, 1, 40);
    std::map<std::string, std::int64_t> factor, usual;
    std::string coefficients, instance;
    for (const char* c : {"Wstride", "Hstride", "Wdilation", "Hdilation"}) {
      usual[c] = factor[c] = draw(random, 1, 3);
      coefficients += fmt::format("    - {{name: {}, default: {}}}\n", c, usual[c]);
      if (draw(random, 0, 1) == 0) continue;
      factor[c] = draw(random, 1, 5);
      instance += fmt::format("    {}: {}\n", c, factor[c]);
    }
    for (const auto& [d, size] : n) instance += fmt::format("    {}: {}\n", d, size);
    const std::string text =
        "problem:\n  shape:\n    dimensions: [R, S, P, Q, C, K, N]\n    coefficients:\n" + coefficients +
        "    data_spaces:\n    - {name: Weights, projection: [[[C]], [[K]], [[R]], [[S]]]}\n"
        "    - {name: Inputs, projection: [[[N]], [[C]], [[R, Wdilation], [P, Wstride]], [[S, Hdilation], [Q, "
        "Hstride]]]}\n"
        "    - {name: Outputs, projection: [[[N]], [[K]], [[Q]], [[P]]], read_write: true}\n  instance:\n" +
        instance;
    const auto ops = operators_of(good_import("timeloop", text));
    ASSERT_EQ(ops.size(), 1) << text;
    double macs = 1;
    for (const auto& [d, size] : n) {
      macs *= static_cast<double>(size);
      EXPECT_EQ(sizes_of(ops[0]).at(std::string(1, static_cast<char>(std::tolower(d[0])))), size);
    }
    EXPECT_EQ(expr::points_of(ops[0].expression), macs);
    std::map<std::string, std::int64_t> point;
    for (const auto& [d, size] : n)
      point[std::string(1, static_cast<char>(std::tolower(d[0])))] = draw(random, 0, size - 1);
    EXPECT_EQ(coordinate(ops[0], "Inputs", 2, point), point["r"] * factor["Wdilation"] + point["p"] * factor["Wstride"])
        << text;
    EXPECT_EQ(coordinate(ops[0], "Inputs", 3, point), point["s"] * factor["Hdilation"] + point["q"] * factor["Hstride"])
        << text;
    EXPECT_EQ(coordinate(ops[0], "Weights", 2, point), point["r"]);
  }
}

TEST(Timeloop, Mistakes) {
  const auto first_error = [](const std::string& file, const std::string& from, const std::string& to) {
    base::Diagnostics diags;
    EXPECT_FALSE(import_of("timeloop", replaced(text_of_format_file(file), from, to), diags)) << to;
    return diags.ok() ? std::string() : diags.formatted_errors()[0];
  };
  EXPECT_EQ(first_error("timeloop_03.yaml", "[ [M] ]", "[ [X] ]"),
            "input:10:11: projection: 'X' is neither a dimension nor a coefficient");
  EXPECT_EQ(first_error("timeloop_03.yaml", "    K: 72", "    L: 72"),
            "input:18:5: instance: no size of the dimension K");
  EXPECT_EQ(first_error("timeloop_03.yaml", "K: 72", "K: many"),
            "input:21:8: K: expected a whole number from 1 to 1000000000000, got the text 'many'");
  EXPECT_THAT(first_error("timeloop_03.yaml", "read-write: True", "read-write: False"),
              HasSubstr("none is the result"));
  EXPECT_THAT(first_error("timeloop_02.yaml", "cnn-layer", "cnn-lair"), HasSubstr("did you mean 'cnn-layer'?"));
  EXPECT_THAT(first_error("timeloop_04.yaml", "[C][P][Q]", "[C][P[Q]"), HasSubstr("input:13:"));
  base::Diagnostics diags;
  const auto imported =
      import_of("timeloop", replaced(text_of_format_file("timeloop_02.yaml"), "Hstride", "Hstrid"), diags);
  ASSERT_TRUE(imported);
  ASSERT_EQ(imported->report.unknown.size(), 1);
  EXPECT_EQ(imported->report.unknown[0].key + imported->report.unknown[0].hint,
            "problem.Hstrid; did you mean 'Hstride'?");
}

TEST(Timeloop, AProblemWithoutAShapeIsAConvolution) {
  base::Diagnostics diags;
  const auto imported = import_of("timeloop",
                                  "mapper: {algorithm: linear_pruned}\narch: {arithmetic: {instances: 4}}\nproblem:\n  "
                                  "{R: 3, S: 2, P: 9, Q: 8, C: 5, K: 4, N: 2, Wstride: 2}\n",
                                  diags);
  ASSERT_TRUE(imported);
  EXPECT_THAT(imported->report.unknown, IsEmpty());
  ASSERT_FALSE(diags.notes().empty());
  EXPECT_EQ(diags.notes()[0].text, "no shape: cnn-layer, as Timeloop assumes");
  const auto ops = operators_of(*imported);
  ASSERT_EQ(ops.size(), 1);
  EXPECT_EQ(expr::points_of(ops[0].expression), 3. * 2 * 9 * 8 * 5 * 4 * 2);
  EXPECT_THAT(shape_of(ops[0], "Inputs"), ElementsAre(2, 5, 8 * 2 + 2 + 1, 7 + 1 + 1));
}

TEST(Timeloop, PartsOfAProblem) {
  base::Diagnostics diags;
  import_of("timeloop",
            "shape:\n  dimensions: [M, K]\n  data_spaces:\n  - {name: A, projection: [[[M]], [[K]]]}\n"
            "  - {name: Z, projection: [[[M]]], read_write: true}\n",
            diags);
  import_of("timeloop", "problem: {R: 3, S: 2}\n", diags);
  import_of("timeloop", "../layers/one.yaml\n", diags);
  EXPECT_THAT(diags.sentences(),
              ElementsAre("a shape without an instance: no dimension has a size", "the problem lacks the key 'shape'",
                          HasSubstr("problem: expected a map, got the text '../layers/one.yaml'")));
}

TEST(Zigzag, Layers) {
  const importers::Imported imported = good_import("zigzag", text_of_format_file("zigzag.yaml"));
  EXPECT_THAT(imported.report.unknown, IsEmpty());
  const auto ops = operators_of(imported);
  ASSERT_EQ(ops.size(), 4);
  EXPECT_THAT((std::vector{ops[0].id, ops[1].id, ops[2].id, ops[3].id}),
              ElementsAre("Conv_0", "Pooling_1", "Add_2", "head_3"));
  EXPECT_EQ(expr::points_of(ops[0].expression), 24. * 3 * 20 * 28 * 3 * 5);
  const std::map<std::string, std::int64_t> point = {{"b", 0},  {"k", 3},  {"c", 1}, {"oy", 7},
                                                     {"ox", 9}, {"fy", 2}, {"fx", 4}};
  EXPECT_EQ(coordinate(ops[0], "I", 2, point), 2 * 7 + 3 * 2 - 1);
  EXPECT_EQ(coordinate(ops[0], "I", 3, point), 2 * 9 + 4 - 2);
  EXPECT_THAT(shape_of(ops[0], "I"), ElementsAre(1, 3, 42, 57));
  EXPECT_EQ(expr::points_of(ops[1].expression), 24. * 10 * 14 * 2 * 2);
  EXPECT_EQ(ops[1].expression.stages[0].reads.size(), 1) << "the weights have no bits";
  EXPECT_EQ(expr::points_of(ops[2].expression), 24. * 10 * 14);
  EXPECT_EQ(expr::points_of(ops[3].expression), 7. * 100 * 96);
  EXPECT_EQ(ops[0].expression.dtype, base::Dtype::kI8);
}

TEST(Zigzag, RandomLayers) {
  std::mt19937 random = generator();
  for (int i = 0; i < 60; ++i) {
    std::map<std::string, std::int64_t> n;
    for (const char* d : {"B", "K", "C", "OY", "OX", "FY", "FX"}) n[d] = draw(random, 1, 30);
    const std::int64_t sy = draw(random, 1, 4), sx = draw(random, 1, 4), dy = draw(random, 1, 4),
                       dx = draw(random, 1, 4);
    std::string dims, sizes;
    double macs = 1;
    for (const auto& [d, size] : n) {
      dims += (dims.empty() ? "" : ", ") + d;
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
      macs *= static_cast<double>(size);
    }
    const std::string text = fmt::format(
        "- id: {}\n  operator_type: Conv\n  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]\n"
        "  dimension_relations: [ix={}*ox+{}*fx, iy={}*oy+{}*fy]\n  loop_dims: [{}]\n  loop_sizes: [{}]\n",
        i, sx, dx, sy, dy, dims, sizes);
    const auto ops = operators_of(good_import("zigzag", text));
    ASSERT_EQ(ops.size(), 1) << text;
    EXPECT_EQ(expr::points_of(ops[0].expression), macs) << text;
    EXPECT_THAT(shape_of(ops[0], "I"), ElementsAre(n["B"], n["C"], (n["OY"] - 1) * sy + (n["FY"] - 1) * dy + 1,
                                                   (n["OX"] - 1) * sx + (n["FX"] - 1) * dx + 1))
        << text;
  }
}

TEST(Zigzag, Mistakes) {
  const auto first_error = [](const std::string& from, const std::string& to) {
    base::Diagnostics diags;
    EXPECT_FALSE(import_of("zigzag", replaced(text_of_format_file("zigzag.yaml"), from, to), diags)) << to;
    return diags.ok() ? std::string() : diags.formatted_errors()[0];
  };
  EXPECT_EQ(first_error("ix=2*ox+1*fx", "ix=2*oz+1*fx"), "input:4:25: dimension_relations: 'oz' is none of loop_dims");
  EXPECT_THAT(first_error("[iy][ix]", "[iy][iz]"), HasSubstr("input:3:13: equation: 'iz' is none of loop_dims"));
  EXPECT_THAT(first_error("[b][k][oy][ox]+=", "[b][k][oy][ox]-="), HasSubstr("equation: expected "));
  EXPECT_THAT(first_error("[1, 24, 3, 20, 28, 3, 5]", "[1, 24]"), HasSubstr("loop_sizes: 2 sizes of 7 loop_dims"));
  EXPECT_THAT(first_error("{W: 8, I: 8, O: 16, O_final: 8}", "{W: 9, I: 8}"), HasSubstr("no element type of 9 bits"));
}

TEST(Scalesim, Convolutions) {
  const importers::Imported imported = good_import("scalesim", text_of_format_file("scalesim_conv.csv"));
  EXPECT_THAT(imported.report.unknown, IsEmpty());
  const auto ops = operators_of(imported);
  ASSERT_EQ(ops.size(), 4);
  EXPECT_EQ(ops[1].id, "Second");
  EXPECT_EQ(expr::points_of(ops[0].expression), 27. * 21 * 5 * 3 * 3 * 20);
  EXPECT_EQ(expr::points_of(ops[1].expression), 5. * 5 * 9 * 20 * 36);  // ceil of (14 - 3 + 3) / 3, of (15 - 3 + 3) / 3
  EXPECT_THAT(shape_of(ops[1], "I"), ElementsAre(1, 20, 14, 15));
  EXPECT_EQ(ops[2].count, 36);
  EXPECT_EQ(expr::points_of(ops[2].expression), 7. * 7 * 9);
}

// The topology's own formula, for random layers.
TEST(Scalesim, RandomLayers) {
  std::mt19937 random = generator();
  std::string text =
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n";
  std::vector<std::array<std::int64_t, 7>> layers;
  for (int i = 0; i < 80; ++i) {
    const std::int64_t r = draw(random, 1, 7), s = draw(random, 1, 7);
    layers.push_back(
        {draw(random, r, 60), draw(random, s, 60), r, s, draw(random, 1, 64), draw(random, 1, 64), draw(random, 1, 4)});
    text += fmt::format("L{}", i);
    for (const std::int64_t v : layers.back()) text += fmt::format(", {}", v);
    text += ",\n";
  }
  const auto ops = operators_of(good_import("scalesim", text));
  ASSERT_EQ(ops.size(), layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto [h, w, r, s, c, f, stride] = layers[i];
    std::int64_t down = 0, across = 0;  // first elements of windows
    for (std::int64_t y = 0; y < h - r + stride; y += stride) ++down;
    for (std::int64_t x = 0; x < w - s + stride; x += stride) ++across;
    EXPECT_EQ(expr::points_of(ops[i].expression), static_cast<double>(down * across * r * s * c * f)) << i;
    const std::map<std::string, std::int64_t> point = {{"n", 0}, {"f", 0}, {"y", 1}, {"x", 2},
                                                       {"c", 0}, {"r", 0}, {"s", 0}};
    EXPECT_EQ(coordinate(ops[i], "I", 2, point), stride);
    EXPECT_EQ(coordinate(ops[i], "I", 3, point), 2 * stride);
  }
}

TEST(Scalesim, Products) {
  const auto ops = operators_of(good_import("scalesim", text_of_format_file("scalesim_gemm.csv")));
  ASSERT_EQ(ops.size(), 2);
  EXPECT_EQ(sizes_of(ops[0]), (std::map<std::string, std::int64_t>{{"m", 128}, {"n", 96}, {"k", 64}}));
  EXPECT_THAT(shape_of(ops[1], "B"), ElementsAre(96, 64));
}

TEST(Scalesim, Mistakes) {
  const auto errors = [](const std::string& from, const std::string& to) {
    base::Diagnostics diags;
    EXPECT_FALSE(import_of("scalesim", replaced(text_of_format_file("scalesim_conv.csv"), from, to), diags)) << to;
    return diags.formatted_errors();
  };
  EXPECT_THAT(errors("57, 43, 5", "57, x, 5")[0],
              HasSubstr("input:3:12: IFMAP Width: expected a whole number from 1 to 1000000000, got 'x'"));
  EXPECT_THAT(errors("57, 43, 5", "4, 43, 5")[0], HasSubstr("a filter of 5x3 is larger than its input of 4x43"));
  EXPECT_THAT(errors("20, 2,", "20, 2, 7,")[0], HasSubstr("input:3:32: the value '7' has no column"));
  EXPECT_THAT(errors("3, 20, 2,", "3, 20")[0], HasSubstr("First: no value for strides"));
  base::Diagnostics diags;
  const auto imported =
      import_of("scalesim", replaced(text_of_format_file("scalesim_conv.csv"), "Strides,", "Strides, Colour"), diags);
  ASSERT_TRUE(imported);
  EXPECT_THAT(imported->report.unknown, IsEmpty()) << "no layer has a value for it";
}

}  // namespace
}  // namespace tilescope::tests
