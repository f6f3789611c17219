// SPDX-License-Identifier: Apache-2.0
// One kind of mistakes per file of tests/error/sweep: `name.expected` holds all that is said about `name.yaml`.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "experiments/sweep/sweep.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return source_path("tests/error/sweep"); }

std::string answer_to(const std::string& file) {
  fs::current_path(folder());
  const std::string store = testing::TempDir() + "tilescope_sweep_errors_" + std::to_string(getpid()) + ".db";
  base::Diagnostics diags;
  EXPECT_FALSE(experiments::sweep(
      {file, store, "test", 1}, [] { return false; }, [](const experiments::SweepProgress&) {}, diags));
  for (const char* end : {"", "-lock", "-wal", "-shm"}) fs::remove(store + end);
  std::string answer;
  for (const std::string& line : diags.formatted_errors()) answer += line + "\n";
  return answer;
}

class SweepErrors : public testing::TestWithParam<std::string> {};

TEST_P(SweepErrors, AreAllNamedWithTheirPlace) {
  const std::string answer = answer_to(GetParam() + ".yaml");
  EXPECT_NE(answer, "");
  expect_text_of_file(answer, folder() / (GetParam() + ".expected"));
}

INSTANTIATE_TEST_SUITE_P(All, SweepErrors, testing::ValuesIn(names_in(folder(), ".yaml")),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace tilescope::tests
