// SPDX-License-Identifier: Apache-2.0
// One kind of mistakes per file of tests/error/suite: `name.expected` holds all that is said about `name.yaml`, which
// may begin with the values of variables that it is read with: `# --size seq=4,batch=8`.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "expr/suites.h"
#include "tests/support/expected.h"
#include "tests/support/given_sizes.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

std::filesystem::path folder() { return source_path("tests/error/suite"); }

std::string answer_to(const std::string& file) {
  std::filesystem::current_path(folder());
  base::Diagnostics diags;
  const auto given = given_in(text_of_file(file), diags);
  const auto suite = expr::read_suite("./" + file, {}, given, diags);
  EXPECT_EQ(suite.has_value(), diags.ok()) << "a file without mistakes is a suite, and no other is";
  if (suite)
    for (const expr::SuiteOperator& op : suite->operators) expr::build(op.problem, diags);
  std::string answer;
  for (const std::string& line : diags.formatted_errors()) answer += line + "\n";
  return answer;
}

class SuiteErrors : public testing::TestWithParam<std::string> {};

TEST_P(SuiteErrors, AreAllNamedWithTheirPlace) {
  const std::string answer = answer_to(GetParam() + ".yaml");
  EXPECT_NE(answer, "");
  expect_text_of_file(answer, folder() / (GetParam() + ".expected"));
}

INSTANTIATE_TEST_SUITE_P(All, SuiteErrors, testing::ValuesIn(names_in(folder(), ".yaml")),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace tilescope::tests
