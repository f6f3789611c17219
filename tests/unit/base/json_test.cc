// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

#include "base/document.h"
#include "tests/unit/base/reading.h"

namespace tilescope::base {
namespace {

using Texts = std::vector<std::string>;

Reading line(std::string_view text) {
  return reading_of([&](SourceId source, Diagnostics& diags) { return read_json_line(text, source, 7, diags); });
}

TEST(Json, PlacesEveryKeyAndValue) {
  EXPECT_EQ(
      places_of(json("{\"a\": [1, 2.5,\n  \"x\"],\t\"b\": {\"c\" : null , \"d\":true},\r\n\"e\":[[3],[]],\"a\":-4}")),
      (Texts{"1:1 a map", "1:2 key a", "1:7 a list", "1:8 the number 1", "1:11 the number 2.5", "2:3 the text 'x'",
             "2:9 key b", "2:14 a map", "2:15 key c", "2:21 nothing", "2:28 key d", "2:32 true", "3:1 key e",
             "3:5 a list", "3:6 a list", "3:7 the number 3", "3:10 a list", "3:14 key a", "3:18 the number -4"}));
}

TEST(Json, SkipsAByteOrderMarkAndCountsBytes) {
  EXPECT_EQ(places_of(json("\xEF\xBB\xBF[\"\xC3\xA9\",1]")),
            (Texts{"1:1 a list", "1:2 the text '\xC3\xA9'", "1:7 the number 1"}));
}

TEST(Json, ReadsEscapesIncludingSurrogatePairs) {
  const Value v = value_of(json(R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")"));
  EXPECT_EQ(*v.get_if<std::string>(), "\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80");
}

TEST(Json, WholeNumbersBeyond64BitsAreDoubles) {
  const Value v =
      value_of(json("[9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809,1e2,-0]"));
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const Value expected = List{std::numeric_limits<std::int64_t>::max(),
                              kTwoTo63,
                              std::numeric_limits<std::int64_t>::min(),
                              -kTwoTo63,
                              100.0,
                              0};
  EXPECT_TRUE(same(v, expected, PlacesCount::kNo)) << to_json(v);
}

struct Refusal {
  std::string text;
  std::string error;  // without the name of the input
};

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all = {
      {"", "1: not valid JSON: unexpected end of input; expected '[', '{', or a literal"},
      {"[1,", "4: not valid JSON: unexpected end of input; expected '[', '{', or a literal"},
      {"[1,]", "4: not valid JSON: unexpected ']'; expected '[', '{', or a literal"},
      {"[1}", "3: not valid JSON: unexpected '}'; expected ']'"},
      {"[1 true]", "4: not valid JSON: unexpected true literal; expected ']'"},
      {"[01]", "3: not valid JSON: unexpected number literal; expected ']'"},
      {"[1] 2", "5: not valid JSON: unexpected number literal; expected end of input"},
      {"{\"a\" 1}", "6: not valid JSON: unexpected number literal; expected ':'"},
      {"{\"a\":1 \"b\":2}", "8: not valid JSON: unexpected string literal; expected '}'"},
      {"{1:2}", "2: not valid JSON: unexpected number literal; expected string literal"},
      {"{a:1}", "2: not valid JSON: invalid literal"},
      {"[nul]", "5: not valid JSON: invalid literal"},
      {"[NaN]", "2: not valid JSON: invalid literal"},
      {"['a']", "2: not valid JSON: invalid literal"},
      {"[-]", "3: not valid JSON: invalid number; expected digit after '-'"},
      {"[1.]", "4: not valid JSON: invalid number; expected digit after '.'"},
      {"[1e]", "4: not valid JSON: invalid number; expected '+', '-', or digit after exponent"},
      {"[\"abc", "6: not valid JSON: invalid string: missing closing quote"},
      {"[\"a\\q\"]", "5: not valid JSON: invalid string: forbidden character after backslash"},
      {"[\"\xFF\"]", "3: not valid JSON: invalid string: ill-formed UTF-8 byte"},
      {"[1, 1e999]", "5: the number is beyond 64-bit floating point"},
      {"// no", "1: not valid JSON: invalid literal"},
      {std::string("{\"a\":1}\0{}", 10), "8: not valid JSON: a NUL character"},
  };
  return all;
}

TEST(Json, RefusesWithThePlace) {
  for (const Refusal& r : refusals()) EXPECT_EQ(error_of(json(r.text)), "in:1:" + r.error) << r.text;
  EXPECT_EQ(error_of(json("[1,\n\n  2 3]")), "in:3:5: not valid JSON: unexpected number literal; expected ']'");
  EXPECT_EQ(error_of(json("[1,\n2\n")), "in:3:1: not valid JSON: unexpected end of input; expected ']'");
}

TEST(JsonLine, RefusesWithLineAndColumn) {
  for (const Refusal& r : refusals()) {
    EXPECT_EQ(error_of(line(r.text)), "in:7:" + r.error) << r.text;
  }
}

// Lines that are objects take another parser first. Whatever that one thinks of them, their messages are these.
TEST(JsonLine, RefusesObjectsWithThePlace) {
  const std::vector<Refusal> all = {
      {R"({"a": [1, 2)", "12: not valid JSON: unexpected end of input; expected ']'"},
      {R"({"a": 1)", "8: not valid JSON: unexpected end of input; expected '}'"},
      {R"({"a)", "4: not valid JSON: invalid string: missing closing quote"},
      {R"({"a":)", "6: not valid JSON: unexpected end of input; expected '[', '{', or a literal"},
      {"{\"a\": \"x\xFFy\"}", "9: not valid JSON: invalid string: ill-formed UTF-8 byte"},
      {"{\"\xC3\": 1}", "4: not valid JSON: invalid string: ill-formed UTF-8 byte"},
      {R"({"a": 1e999})", "7: the number is beyond 64-bit floating point"},
      {R"({"a": 01})", "8: not valid JSON: unexpected number literal; expected '}'"},
      {R"({"a": truer})", "11: not valid JSON: invalid literal"},
      {R"({"a": nul})", "10: not valid JSON: invalid literal"},
      {R"({"a": 1,})", "9: not valid JSON: unexpected '}'; expected string literal"},
      {R"({"a": [1,]})", "10: not valid JSON: unexpected ']'; expected '[', '{', or a literal"},
      {R"({"a" 1})", "6: not valid JSON: unexpected number literal; expected ':'"},
      {R"({"a": 1} 2)", "10: not valid JSON: unexpected number literal; expected end of input"},
      {R"({"a": 1}})", "9: not valid JSON: unexpected '}'; expected end of input"},
      {R"({"a": "\ud800"})",
       "14: not valid JSON: invalid string: surrogate U+D800..U+DBFF must be followed by "
       "U+DC00..U+DFFF"},
      {R"({"a": "\udc00"})",
       "13: not valid JSON: invalid string: surrogate U+DC00..U+DFFF must follow "
       "U+D800..U+DBFF"},
      {"{\"a\": \"\t\"}",
       "8: not valid JSON: invalid string: control character U+0009 (HT) must be escaped to "
       "\\u0009 or \\t"},
  };
  for (const Refusal& r : all) EXPECT_EQ(error_of(line(r.text)), "in:7:" + r.error) << r.text;
}

TEST(JsonLine, ReadsObjectsOfEveryKindOfValue) {
  const std::string plain =
      "\xEF\xBB\xBF {\"\xC3\xA9\": [ ], \"b\":{},\"c\":[null,true,false],\"d\":-0,\"e\":-0.0,\"f\":9223372036854775807,"
      "\"g\":18446744073709551615,\"h\":99999999999999999999,\"i\":5e-324,\"j\":\"\",\"k\":2.5E3 }\r";
  EXPECT_EQ(to_json(value_of(line(plain))),
            "{\"\xC3\xA9\":[],\"b\":{},\"c\":[null,true,false],\"d\":0,\"e\":-0.0,\"f\":9223372036854775807,"
            "\"g\":18446744073709551616.0,\"h\":1e+20,\"i\":5e-324,\"j\":\"\",\"k\":2500.0}");
  EXPECT_EQ(to_json(value_of(line(R"({"a\n": "b\u00e9", "c": "\ud83d\ude00"})"))),
            "{\"a\\n\":\"b\xC3\xA9\",\"c\":\"\xF0\x9F\x98\x80\"}");
}

// Doubles of more digits than 64 bits have: the nearest ones, as strtod finds them.
TEST(JsonLine, ReadsNumbersOfManyDigits) {
  for (const char* number :
       {"100000000000000016.0", "123456789012345678901.5", "0.1000000000000000055511151231257827",
        "-99999999999999999.9", "12345678901234567890", "-12345678901234567890", "1234567890123456789012e-10",
        "0.00000000000000000000000001", "9007199254740993.00000000000000000001", "17976931348623157e292",
        "2.2250738585072011e-308"})
    EXPECT_EQ(*value_of(line(std::string("{\"a\":") + number + "}")).find("a")->get_if<double>(),
              std::strtod(number, nullptr))
        << number;
}

TEST(JsonLine, PlacesEveryValue) {
  EXPECT_EQ(places_of(line(R"({"a": [1, "x"]})")),
            (Texts{"7:1 a map", "7:2 key a", "7:7 a list", "7:8 the number 1", "7:11 the text 'x'"}));
}

TEST(JsonLine, KeepsDuplicatesAndOrder) {
  EXPECT_EQ(to_json(value_of(line(R"({"b":1,"a":2,"b":3})"))), R"({"b":1,"a":2,"b":3})");
}

TEST(Json, LimitsTheDepth) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(json(nested(64)).value);
  EXPECT_EQ(error_of(json(nested(65))), "in:1:65: nested more than 64 deep");
  EXPECT_EQ(error_of(json("{\"a\":\n{\"a\":1}}", {.depth = 1})), "in:2:1: nested more than 1 deep");
  EXPECT_EQ(error_of(line(nested(65))), "in:7:65: nested more than 64 deep");
  const auto object = [&](std::size_t depth) { return "{\"a\":" + nested(depth - 1) + "}"; };
  EXPECT_TRUE(line(object(64)).value);
  EXPECT_EQ(error_of(line(object(65))), "in:7:69: nested more than 64 deep");
  EXPECT_EQ(error_of(line(object(100'000))), "in:7:69: nested more than 64 deep");
}

TEST(Json, LimitsTheSize) {
  constexpr std::size_t kTenMega = 10'000'000;
  const std::string brackets(kTenMega, '[');
  EXPECT_EQ(error_of(json(brackets)), "in: 10000000 bytes long; at most 1048576 are accepted");
  EXPECT_EQ(error_of(line(brackets)), "in:7:1: 10000000 bytes long; at most 1048576 are accepted");
  EXPECT_EQ(error_of(json(brackets, {.bytes = kTenMega})), "in:1:65: nested more than 64 deep");
  const Value long_text = value_of(json('"' + std::string(kTenMega, 'x') + '"', {.bytes = kTenMega + 2}));
  EXPECT_EQ(long_text.get_if<std::string>()->size(), kTenMega);
}

TEST(Json, MessagesDoNotRepeatTheInput) {
  const std::string error = error_of(json('"' + std::string(100'000, 'x')));
  EXPECT_EQ(error, "in:1:100002: not valid JSON: invalid string: missing closing quote");
}

}  // namespace
}  // namespace tilescope::base
