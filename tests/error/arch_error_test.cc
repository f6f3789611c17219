// SPDX-License-Identifier: Apache-2.0
// One mistake or one kind of mistakes per file of tests/error/arch: `name.expected` holds all that is said about
// `name.yaml`. Inputs too large to keep are made here.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/key.h"
#include "arch/load.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

std::filesystem::path folder() { return source_path("tests/error/arch"); }

// The errors of a file of that folder, one a line, with the file's name alone.
std::string answer_to(const std::string& file) {
  std::filesystem::current_path(folder());
  base::Diagnostics diags;
  const bool loaded = arch::load_arch(file, {}, diags).has_value();
  EXPECT_EQ(loaded, diags.ok()) << "a file without mistakes is a chip, and no other is";
  std::string answer;
  for (const std::string& line : diags.formatted_errors()) answer += line + "\n";
  return answer;
}

class ArchErrors : public testing::TestWithParam<std::string> {};

TEST_P(ArchErrors, AreAllNamedWithTheirPlace) {
  const std::string answer = answer_to(GetParam() + ".yaml");
  EXPECT_EQ(answer.empty(), GetParam().starts_with("minimal"));
  expect_text_of_file(answer, folder() / (GetParam() + ".expected"));
}

INSTANTIATE_TEST_SUITE_P(All, ArchErrors, testing::ValuesIn(names_in(folder(), ".yaml")),
                         [](const auto& named) { return named.param; });

// Every key that was renamed is refused with its name of today.
TEST(ArchErrorsOfOldNames, SayEveryNameOfToday) {
  const std::string answer = answer_to("old_names.yaml");
  for (const base::RenamedKey& key : arch::kRenamedKeys)
    EXPECT_THAT(answer, testing::HasSubstr(std::string(key.was) + ": is now called " + std::string(key.now) + "\n"));
}

// The only error of a text, without its source.
std::string only_error(const std::string& text) {
  base::Diagnostics diags;
  EXPECT_FALSE(arch::load_arch_text(text, "huge.yaml", {}, diags).has_value());
  EXPECT_EQ(diags.errors().size(), 1U);
  return diags.formatted_errors().front();
}

TEST(ArchErrorsOfHugeText, TenMegabytes) {
  const std::string line = "# a comment that is long enough to be counted in millions\n";
  std::string text;
  while (text.size() < 10'000'000) text += line;
  EXPECT_EQ(only_error(text),
            "huge.yaml: " + std::to_string(text.size()) + " bytes long; at most 1048576 are accepted");
}

TEST(ArchErrorsOfHugeText, AHundredThousandDeep) {
  EXPECT_EQ(only_error("core: " + std::string(100'000, '[') + std::string(100'000, ']')),
            "huge.yaml:1:70: nested more than 64 deep");
  std::string block;  // of which a megabyte holds a thousand levels
  for (int depth = 0; depth < 1000; ++depth) block += std::string(static_cast<std::size_t>(depth), ' ') + "a:\n";
  EXPECT_EQ(only_error(block), "huge.yaml:65:65: nested more than 64 deep");
}

TEST(ArchErrorsOfHugeText, ThousandsOfKeys) {
  std::string text;
  for (int key = 0; key < 50'000; ++key) text += "a" + std::to_string(key) + ": 1\n";
  EXPECT_EQ(only_error(text), "huge.yaml: 50001 values; a chip has at most 10000");
}

}  // namespace
}  // namespace tilescope::tests
