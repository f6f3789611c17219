// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small files of our own in each format, and their imports.

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "import/import.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {

struct FormatFile {
  std::string format, file;
};

inline std::vector<FormatFile> format_files() {
  return {
      {"gpgpusim", "little.config"},           {"llmcompass", "little.json"},          {"dramsim3", "little.ini"},
      {"ramulator2", "ramulator_preset.yaml"}, {"ramulator2", "ramulator_whole.yaml"}, {"timeloop", "timeloop_02.yaml"},
      {"timeloop", "timeloop_03.yaml"},        {"timeloop", "timeloop_04.yaml"},       {"zigzag", "zigzag.yaml"},
      {"scalesim", "scalesim_conv.csv"},       {"scalesim", "scalesim_gemm.csv"}};
}

inline std::string text_of_format_file(const std::string& file) {
  return text_of_file(source_path("tests/unit/import/files/" + file));
}

inline std::optional<importers::Imported> import_of(const std::string& format, const std::string& text,
                                                    base::Diagnostics& diags, const std::string& like = {},
                                                    const std::string& file = "input") {
  importers::ImportOptions options;
  options.format = format;
  options.file = file;
  options.like = like;
  return importers::import_text(text, options, diags);
}

// An import that must succeed.
inline importers::Imported good_import(const std::string& format, const std::string& text,
                                       const std::string& like = {}) {
  base::Diagnostics diags;
  auto imported = import_of(format, text, diags, like);
  for (const std::string& line : diags.formatted_errors()) ADD_FAILURE() << line;
  return imported ? std::move(*imported) : importers::Imported{};
}

// The text with its first `from` replaced; a test that has none is a mistake.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace tilescope::tests
