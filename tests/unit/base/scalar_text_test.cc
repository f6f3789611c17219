// SPDX-License-Identifier: Apache-2.0
#include "base/scalar_text.h"

#include <string>

#include <gtest/gtest.h>

namespace tilescope::base {
namespace {

// The character at a place of a text.
char at(const std::string& text, Position p) {
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < p.line; ++line) begin = text.find('\n', begin) + 1;
  return text.at(begin + p.column - 1);
}

// However YAML writes a text, its first character is the X.
TEST(ScalarText, BeginsBehindWhatYamlPutsBeforeIt) {
  for (const std::string text :
       {"a: X text\n", "a: 'X text'\n", "a: \"X text\"\n", "a: >-\n    X text\n    goes on\n", "a: |\n\n  X text\n",
        "- b\n- {a: 'X', c: 2}\n", "a:\n  - X\n", "a: >\n\n\n   X", "long: [1, 2]\na:   X # and more\n"}) {
    Diagnostics diags;
    const auto document = read_yaml(text, diags.add_source("t.yaml"), diags);
    ASSERT_TRUE(document) << text;
    const Value* value = document->find("a");
    if (const auto* list = (value != nullptr ? *value : *document).get_if<List>())
      value = list->back().is_map() ? list->back().find("a") : &list->back();
    ASSERT_NE(value, nullptr) << text;
    EXPECT_EQ(at(text, text_at(*value, text)), 'X') << text;
  }
}

}  // namespace
}  // namespace tilescope::base
