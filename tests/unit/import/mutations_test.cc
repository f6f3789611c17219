// SPDX-License-Identifier: Apache-2.0
// Whatever a file is changed to, a reader ends: with a chip or a suite that our own readers take, or with errors that
// name the file.

#include <random>

#include <gmock/gmock.h>

#include "arch/load.h"
#include "expr/suites.h"
#include "tests/unit/import/import_file.h"

namespace tilescope::tests {
namespace {

constexpr std::string_view kCharacters = "0123456789-+*/.,:;=[]{}()#\"' \n\tabcxyzNSR_!@\x01\xff";

class Mutations : public testing::Test {
 protected:
  std::size_t draw(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

  // One to four changes: a character, a piece that is left out or given twice, a number, the end.
  std::string changed(std::string text) {
    for (std::size_t n = 1 + draw(4); n > 0 && !text.empty(); --n) {
      const std::size_t at = draw(text.size()), length = std::min<std::size_t>(1 + draw(12), text.size() - at);
      switch (draw(6)) {
        case 0:
          text[at] = kCharacters[draw(kCharacters.size())];
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(at, length));
          break;
        case 3:
          text.insert(at, 1, kCharacters[draw(kCharacters.size())]);
          break;
        case 4: {
          const std::size_t digit = text.find_first_of("0123456789", at);
          static constexpr const char* kNumbers[] = {"0", "-1", "99999999999999999999", "1e300", "0.5", "4096"};
          if (digit != std::string::npos) text.replace(digit, 1, kNumbers[draw(std::size(kNumbers))]);
          break;
        }
        default:
          if (draw(4) == 0) text.resize(at);
      }
    }
    return text;
  }

  void expect_an_end(const FormatFile& f, const std::string& text, const std::string& like) {
    base::Diagnostics diags;
    const auto imported = import_of(f.format, text, diags, like, f.file);
    ASSERT_EQ(imported.has_value(), diags.ok()) << text;
    for (const base::Diagnostic& d : diags.errors()) {
      EXPECT_EQ(diags.source_name(d.at.source), f.file) << d.text << "\n" << text;
      EXPECT_FALSE(d.text.empty());
    }
    if (!imported) return;
    base::Diagnostics own;
    if (imported->kind == "chip")
      arch::load_arch_text(imported->text, "chip", {}, own);
    else
      expr::read_suite_text(imported->text, "suite", std::nullopt, {}, own);
    EXPECT_TRUE(own.ok()) << own.formatted_errors()[0] << "\n" << imported->text << "\nof\n" << text;
  }

  std::mt19937 random_;
};

TEST_F(Mutations, EndInADiagnosisOrAGoodFile) {
  const auto seed = std::random_device{}();
  random_.seed(seed);
  for (const FormatFile& f : format_files()) {
    const std::string text = text_of_format_file(f.file);
    const bool is_chip = f.format == "gpgpusim" || f.format == "llmcompass";
    for (int i = 0; i < (is_chip ? 150 : 400); ++i) {
      expect_an_end(f, changed(text), is_chip ? "a100" : "");
      if (HasFailure()) FAIL() << f.file << ", seed " << seed << ", change " << i;
    }
  }
}

TEST_F(Mutations, NothingAndRubbish) {
  for (const FormatFile& f : format_files())
    for (const std::string& text :
         {std::string(), std::string("\n\n"), std::string(3000, '['), std::string("\0\0", 2), std::string("a: b"),
          std::string("- 1"), std::string("{}"), std::string(",,,\n,,,")}) {
      base::Diagnostics diags;
      EXPECT_FALSE(import_of(f.format, text, diags)) << f.format << ": " << text;
      EXPECT_FALSE(diags.ok());
    }
}

}  // namespace
}  // namespace tilescope::tests
