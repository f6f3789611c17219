// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests over a folder of inputs, each with what is said about it in a file `.expected` beside it. TILESCOPE_UPDATE=1
// rewrites the expectations.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace tilescope::tests {

inline std::string text_of_file(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

// Names without extension of a folder's files of that extension (".yaml"), sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& folder, std::string_view extension) {
  std::set<std::string> sorted;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension) sorted.insert(entry.path().stem().string());
  return {sorted.begin(), sorted.end()};
}

// Compares an answer with a file's text, or writes it there.
inline void expect_text_of_file(const std::string& answer, const std::filesystem::path& expected) {
  if (std::getenv("TILESCOPE_UPDATE") != nullptr) std::ofstream(expected) << answer;
  EXPECT_TRUE(std::filesystem::exists(expected)) << expected << " is missing; TILESCOPE_UPDATE=1 writes it";
  EXPECT_EQ(answer, text_of_file(expected)) << "in " << expected;
}

}  // namespace tilescope::tests
