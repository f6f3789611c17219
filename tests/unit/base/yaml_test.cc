// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "tests/unit/base/reading.h"

namespace tilescope::base {
namespace {

using Texts = std::vector<std::string>;

TEST(Yaml, PlacesEveryKeyAndValue) {
  const Texts expected = {"1:1 a map",  "1:1 key name",       "1:7 the text 'v100'", "2:1 key core",
                          "2:7 a map",  "2:8 key count",      "2:15 the number 80",  "3:1 key list",
                          "4:3 a list", "4:5 the number 1.5", "5:5 a list",          "5:6 true",
                          "6:5 a map",  "6:5 key x",          "6:8 the text 'y z'"};
  EXPECT_EQ(places_of(yaml("name: v100  # a comment\n"
                           "core: {count: 80}\n"
                           "list:\n"
                           "  - 1.5\n"
                           "  - [true]\n"
                           "  - x: \"y z\"\n")),
            expected);
}

TEST(Yaml, CountsColumnsInBytesAndTakesByteOrderMarkAndCrlf) {
  EXPECT_EQ(places_of(yaml("\xEF\xBB\xBF"
                           "\xC3\xA9: 1\r\nb: 2\r\n")),
            (Texts{"1:1 a map", "1:1 key \xC3\xA9", "1:5 the number 1", "2:1 key b", "2:4 the number 2"}));
}

TEST(Yaml, KeepsDuplicatesInOrder) {
  EXPECT_EQ(places_of(yaml("b: 1\na: 2\nb: 3\n")), (Texts{"1:1 a map", "1:1 key b", "1:4 the number 1", "2:1 key a",
                                                          "2:4 the number 2", "3:1 key b", "3:4 the number 3"}));
}

TEST(Yaml, AMissingValueStandsAtItsKey) {
  EXPECT_EQ(places_of(yaml("a:  # nothing\n\nb: ~\nc:")),
            (Texts{"1:1 a map", "1:1 key a", "1:1 nothing", "3:1 key b", "3:4 nothing", "4:1 key c", "4:1 nothing"}));
}

TEST(Yaml, AnEmptyDocumentIsNothing) {
  for (const char* text : {"", "\n\n", "# only a comment", "---\n", "...\n", "~"})
    EXPECT_EQ(places_of(yaml(text)), Texts{"1:1 nothing"}) << text;
}

TEST(Yaml, KeysThatAreNoTextsAreReadAsTheirText) {
  EXPECT_EQ(to_json(value_of(yaml("1: a\n1.50: b\ntrue: c\nnull: d\n\"2\": e\n"))),
            R"({"1":"a","1.50":"b","true":"c","null":"d","2":"e"})");
}

struct Scalar {
  const char* text;
  Value value;
};

TEST(Yaml, TypesPlainScalarsByTheCoreSchema) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<Scalar> scalars = {
      {"null", nullptr},
      {"Null", nullptr},
      {"NULL", nullptr},
      {"~", nullptr},
      {"true", true},
      {"True", true},
      {"TRUE", true},
      {"false", false},
      {"False", false},
      {"FALSE", false},
      {"0", 0},
      {"12", 12},
      {"-5", -5},
      {"+5", 5},
      {"007", 7},
      {"0x1F", 31},
      {"0o17", 15},
      {"1.5", 1.5},
      {"-1.5", -1.5},
      {"1.", 1.0},
      {".5", 0.5},
      {"-.5", -0.5},
      {"+.5", 0.5},
      {"1e3", 1000.0},
      {"1E+3", 1000.0},
      {"12e-1", 1.2},
      {"-0.0", -0.0},
      {".inf", kInfinity},
      {"-.INF", -kInfinity},
      {"+.Inf", kInfinity},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {"9223372036854775808", 9223372036854775808.0},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"-9223372036854775809", -9223372036854775808.0},
  };
  for (const Scalar& s : scalars) {
    const Value v = value_of(yaml(fmt::format("[{}]", s.text)));
    EXPECT_TRUE(same(v, Value(List{s.value}), PlacesCount::kNo)) << s.text << " became " << to_json(v);
  }
  const Value nan = value_of(yaml(".nan"));
  ASSERT_NE(nan.get_if<double>(), nullptr);
  EXPECT_TRUE(std::isnan(*nan.get_if<double>()));
}

TEST(Yaml, LeavesEverythingElseAsText) {
  for (const char* text :
       {"yes", "no",  "on",    "off",    "y",     "tRUE",       "nULL",   "nan",    "inf", "infinity",
        "0x",  "0xG", "-0x1F", "0b1",    "1_000", "1e",         "e1",     "1.5.2",  "--1", "+-1",
        "+",   ".",   "1:30",  "12 KiB", "0x-1",  "2026-01-01", "'true'", "\"12\"", "'~'", "! 12"}) {
    const Value v = value_of(yaml(text));
    EXPECT_NE(v.get_if<std::string>(), nullptr) << text << " became " << v.describe();
  }
}

TEST(Yaml, ReadsBlockTexts) {
  EXPECT_EQ(to_json(value_of(yaml("a: |\n  x\n  y\nb: >-\n  x\n  y\nc: |+\n  x\n\n"))),
            R"({"a":"x\ny\n","b":"x y","c":"x\n\n"})");
}

struct YamlRefusal {
  std::string text;
  std::string error;
};

TEST(Yaml, RefusesWithThePlace) {
  const std::vector<YamlRefusal> refusals = {
      {"a: &x 1\n", "in:1:4: anchors (&name) are not accepted"},
      {"a: 1\nb: &x [1]\n", "in:2:4: anchors (&name) are not accepted"},
      {"a: 1\nb: &x {c: 1}\n", "in:2:4: anchors (&name) are not accepted"},
      {"a: &x\n", "in:1:4: anchors (&name) are not accepted"},
      {"&x a: 1\n", "in:1:1: anchors (&name) are not accepted"},
      {"a: *x\n", "in:1:4: not valid YAML: the referenced anchor is not defined"},
      {"a: 1\n<<: {b: 1}\n", "in:2:1: merge keys (<<) are not accepted"},
      {"a: !!str 1\n", "in:1:4: tags (!name) are not accepted"},
      {"a: !mine [1]\n", "in:1:4: tags (!name) are not accepted"},
      {"a: !mine {b: 1}\n", "in:1:4: tags (!name) are not accepted"},
      {"a: 1\n---\nb: 2\n", "in:2:1: a second document begins; only one is accepted"},
      {"a: 1\n...\nb: 2\n", "in:3:1: a second document begins; only one is accepted"},
      {"[1] 2\n", "in:1:5: a second document begins; only one is accepted"},
      {"? [a]\n: b\n", "in:1:3: a list begins where a key is expected, or its bracket is not closed"},
      {"? {a: 1}\n: b\n", "in:1:3: a map begins where a key is expected, or its bracket is not closed"},
      {"[a, b\n", "in:1:1: a list begins where a key is expected, or its bracket is not closed"},
      {"{a: 1\n", "in:1:1: a map begins where a key is expected, or its bracket is not closed"},
      {"a: [1, 2\nb: 3\n", "in:2:2: not valid YAML: end of sequence flow not found"},
      {"a: {x: 1\nb: 2\n", "in:2:2: not valid YAML: end of map flow not found"},
      {"a: b: c\n", "in:1:5: not valid YAML: illegal map value"},
      {"a: 1\n b: 2\n", "in:2:3: not valid YAML: illegal map value"},
      {"a: [1}\n", "in:1:6: not valid YAML: illegal flow end"},
      {"a: 1\n]\n", "in:2:1: not valid YAML: illegal flow end"},
      {"a: 1\n[b]\n", "in:2:1: not valid YAML: end of map not found"},
      {"a: \"\\q\"\n", "in:1:7: not valid YAML: unknown escape character: q"},
      {"a: \"x\nb: 1\n", "in:3:1: not valid YAML: a quote is not closed"},
      {"a: 'x", "in:2:1: not valid YAML: a quote is not closed"},
      {"a: 1e999\n", "in:1:4: the number is beyond 64-bit floating point"},
      {"a: 1\nbc: 2\x04\n", "in:2:6: the control character 0x04 is not accepted"},
      {std::string("a: 1\0", 5), "in:1:5: the control character 0x00 is not accepted"},
      {"\x7F", "in:1:1: the control character 0x7f is not accepted"},
  };
  for (const YamlRefusal& r : refusals) EXPECT_EQ(error_of(yaml(r.text)), r.error) << r.text;
}

TEST(Yaml, QuotedMergeKeyIsAKey) { EXPECT_EQ(to_json(value_of(yaml("'<<': 1"))), R"({"<<":1})"); }

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(Yaml, LimitsTheDepth) {
  EXPECT_TRUE(yaml(nested(64, "[", "]")).value);
  EXPECT_EQ(error_of(yaml(nested(65, "[", "]"))), "in:1:65: nested more than 64 deep");
  EXPECT_TRUE(yaml(nested(3, "{a: ", "}"), {.depth = 3}).value);
  EXPECT_EQ(error_of(yaml(nested(4, "{a: ", "}"), {.depth = 3})), "in:1:13: nested more than 3 deep");
  EXPECT_EQ(error_of(yaml(nested(500'000, "- ", ""))), "in:1:129: nested more than 64 deep");
}

TEST(Yaml, LimitsTheSizeBeforeReading) {
  constexpr std::size_t kTenMega = 10'000'000;
  EXPECT_EQ(error_of(yaml(std::string(kTenMega, '['))), "in: 10000000 bytes long; at most 1048576 are accepted");
  EXPECT_TRUE(yaml("abc", {.bytes = 3}).value);
  EXPECT_EQ(error_of(yaml("abcd", {.bytes = 3})), "in: 4 bytes long; at most 3 are accepted");
}

TEST(Yaml, ReadsTenMegabytesWhereTheLimitAllows) {
  std::string text;
  constexpr std::size_t kTenMega = 10'000'000;
  while (text.size() < kTenMega) text += "- " + std::string(10'000, 'x') + "\n";
  const Value v = value_of(yaml(text, {.bytes = text.size()}));
  EXPECT_EQ(v.get_if<List>()->back().at.line, text.size() / 10'003);
}

TEST(Yaml, HostileInputEndsInAnError) {
  constexpr std::size_t kMega = 1 << 20;
  for (const char* piece : {"[", "{", "? ", "a: ", "&a ", "!a ", "---\n", "[x:", "[a ", "\"a\" ", "|\n", "*a "}) {
    std::string text;
    while (text.size() + 8 < kMega) text += piece;
    const Reading r = yaml(text);
    EXPECT_FALSE(r.value) << piece;
    EXPECT_EQ(r.errors.size(), 1U) << piece;
  }
}

}  // namespace
}  // namespace tilescope::base
