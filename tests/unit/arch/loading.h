// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of arch/ load: chips by name or text, with what was said about them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "arch/load.h"

namespace tilescope::tests {

struct LoadedChip {
  std::optional<arch::ArchSpec> chip;
  std::vector<std::string> errors;
  std::vector<std::string> notes;
};

inline LoadedChip answer_of(std::optional<arch::ArchSpec> chip, const base::Diagnostics& diags) {
  LoadedChip out{std::move(chip), diags.formatted_errors(), {}};
  for (const base::Diagnostic& note : diags.notes()) out.notes.push_back(diags.format(note));
  return out;
}

inline LoadedChip load(const std::string& name_or_path, const std::vector<arch::Override>& overrides = {}) {
  base::Diagnostics diags;
  auto chip = arch::load_arch(name_or_path, overrides, diags);
  return answer_of(std::move(chip), diags);
}

inline LoadedChip load_text(std::string_view text, const std::vector<arch::Override>& overrides = {}) {
  base::Diagnostics diags;
  auto chip = arch::load_arch_text(text, "chip.yaml", overrides, diags);
  return answer_of(std::move(chip), diags);
}

// A chip that must load.
inline arch::ArchSpec chip_of(const std::string& name, const std::vector<arch::Override>& overrides = {}) {
  LoadedChip loaded = load(name, overrides);
  for (const std::string& e : loaded.errors) ADD_FAILURE() << e;
  return loaded.chip.value_or(arch::ArchSpec{});
}

}  // namespace tilescope::tests
