// SPDX-License-Identifier: Apache-2.0
#include "base/document.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/base/reading.h"

namespace tilescope::base {
namespace {

Value sample() { return Map{{"a", 1}, {"b", List{true, nullptr, "x\"y"}}, {"a", 2.0}, {"c", Map{}}}; }

TEST(Value, FindGivesTheFirstEntryOfAKey) {
  Value v = sample();
  ASSERT_NE(v.find("a"), nullptr);
  EXPECT_EQ(*std::as_const(v).find("a")->get_if<std::int64_t>(), 1);
  EXPECT_EQ(v.find("d"), nullptr);
  EXPECT_EQ(Value(1).find("a"), nullptr);
  *v.find("a") = 7;
  EXPECT_EQ(*v.find("a")->get_if<std::int64_t>(), 7);
}

TEST(Value, DescribesItselfForMessages) {
  EXPECT_EQ(Value().describe(), "nothing");
  EXPECT_EQ(Value(nullptr).describe(), "nothing");
  EXPECT_EQ(Value(true).describe(), "true");
  EXPECT_EQ(Value(false).describe(), "false");
  EXPECT_EQ(Value(12).describe(), "the number 12");
  EXPECT_EQ(Value(12.0).describe(), "the number 12.0") << "not to be taken for a whole number";
  EXPECT_EQ(Value(0.1).describe(), "the number 0.1");
  EXPECT_EQ(Value(-std::numeric_limits<double>::infinity()).describe(), "the number -inf");
  EXPECT_EQ(Value("abc").describe(), "the text 'abc'");
  EXPECT_EQ(Value(List{1}).describe(), "a list");
  EXPECT_EQ(Value(Map{}).describe(), "a map");
}

TEST(Value, DescribesLongAndOddTextsOnOneShortLine) {
  const std::string forty(40, 'x');
  EXPECT_EQ(Value(forty).describe(), "the text '" + forty + "'");
  EXPECT_EQ(Value(forty + "y").describe(), "the text '" + forty + "...'");
  EXPECT_EQ(Value(std::string(39, 'x') + "\xC3\xA9").describe(), "the text '" + std::string(39, 'x') + "...'")
      << "no half characters";
  EXPECT_EQ(Value("a\nb\x1B[1m").describe(), "the text 'a b [1m'");
}

TEST(ToJson, WritesOneLine) { EXPECT_EQ(to_json(sample()), R"({"a":1,"b":[true,null,"x\"y"],"a":2.0,"c":{}})"); }

TEST(ToJson, WritesIndented) {
  EXPECT_EQ(to_json(sample(), 2),
            "{\n"
            "  \"a\": 1,\n"
            "  \"b\": [\n"
            "    true,\n"
            "    null,\n"
            "    \"x\\\"y\"\n"
            "  ],\n"
            "  \"a\": 2.0,\n"
            "  \"c\": {}\n"
            "}");
  EXPECT_EQ(to_json(List{}, 2), "[]");
}

TEST(ToJson, WritesTheShortestNumbersThatRoundTrip) {
  const Value numbers = List{0.1, 1e30, 1e-7, -0.0, 5e-324, 1.7976931348623157e308, 3.0};
  EXPECT_EQ(to_json(numbers), "[0.1,1e+30,1e-07,-0.0,5e-324,1.7976931348623157e+308,3.0]");
  EXPECT_EQ(to_json(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(ToJson, WritesNullForWhatJsonCannotSay) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_json(List{kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}), "[null,null,null]");
}

TEST(ToJson, EscapesAndReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(to_json("\"\\/\b\f\n\r\t\x01\xC3\xA9"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\xC3\xA9\"");
  EXPECT_EQ(to_json("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(to_json(Map{{"\xC3", 1}}), "{\"\xEF\xBF\xBD\":1}");
}

class ReadFile : public testing::Test {
 protected:
  ReadFile() { std::filesystem::create_directories(folder_); }
  ~ReadFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  // The file's text, or the error about it.
  static std::string result(const std::string& path, DocumentLimits limits = {}) {
    Diagnostics diags;
    const SourceId source = diags.add_source("f");
    const auto text = read_file(path, source, diags, limits);
    return text ? *text : diags.formatted_errors().at(0);
  }

  // One a test, for ctest runs the tests side by side.
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("tilescope_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ReadFile, GivesTheBytesUnchanged) {
  const std::string text("a\r\nb\0c\n", 7);
  EXPECT_EQ(result(write("x.yaml", text)), text);
  EXPECT_EQ(result(write("empty", "")), "");
}

TEST_F(ReadFile, RefusesWhatIsMissing) {
  EXPECT_EQ(result((folder_ / "none.yaml").string()), "f: cannot be read: No such file or directory");
}

TEST_F(ReadFile, RefusesAFolder) { EXPECT_EQ(result(folder_.string()), "f: cannot be read: it is a folder"); }

TEST_F(ReadFile, RefusesWhatIsTooLong) {
  const std::string path = write("long", std::string(70'000, 'x'));
  EXPECT_EQ(result(path, {.bytes = 69'999}), "f: 70000 bytes long; at most 69999 are accepted");
  EXPECT_EQ(result(path, {.bytes = 70'000}), std::string(70'000, 'x'));
}

TEST_F(ReadFile, RefusesEndlessInput) {
  if (!std::filesystem::exists("/dev/zero")) GTEST_SKIP() << "no /dev/zero here";
  EXPECT_EQ(result("/dev/zero"), "f: longer than the 1048576 bytes that are accepted");
}

}  // namespace
}  // namespace tilescope::base
