// SPDX-License-Identifier: Apache-2.0
// One mistake per file of tests/error/expr: `name.txt` holds the arguments, `name.expected` what is said about them.
// TILESCOPE_UPDATE=1 rewrites the expectations.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/unit/expr/build_expression.h"

namespace tilescope::tests {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return source_path("tests/error/expr"); }

std::string text_of(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

// The text after `key: ` in the file's lines, or nothing.
std::string argument(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + ": ")) return line.substr(key.size() + 2);
  return {};
}

std::string answer_to(const std::string& text) {
  std::string out;
  const std::string dtype = argument(text, "dtype");
  const std::string accumulate = argument(text, "accumulate");
  const Built built = build(argument(text, "op"), argument(text, "size"), argument(text, "shape"),
                            base::dtype_of(dtype).value_or(base::Dtype::kF32), base::dtype_of(accumulate));
  for (const std::string& e : built.errors) out += e + "\n";
  return out;
}

std::vector<std::string> names() {
  std::set<std::string> sorted;
  for (const auto& entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".txt") sorted.insert(entry.path().stem().string());
  return {sorted.begin(), sorted.end()};
}

class ExpressionErrors : public testing::TestWithParam<std::string> {};

TEST_P(ExpressionErrors, AreNamedWithTheirPlace) {
  const fs::path file = folder() / (GetParam() + ".txt");
  const fs::path expected = folder() / (GetParam() + ".expected");
  const std::string answer = answer_to(text_of(file));
  EXPECT_FALSE(answer.empty()) << file << " holds no mistake";
  if (std::getenv("TILESCOPE_UPDATE") != nullptr) std::ofstream(expected) << answer;
  EXPECT_EQ(answer, text_of(expected));
}

INSTANTIATE_TEST_SUITE_P(All, ExpressionErrors, testing::ValuesIn(names()),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace tilescope::tests
