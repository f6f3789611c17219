// SPDX-License-Identifier: Apache-2.0
// Any text is a chip or a list of mistakes, never both and never neither.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "arch/load.h"
#include "base/check.h"
#include "base/diagnostics.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tilescope::base::Diagnostics diags;
  const auto chip = tilescope::arch::load_arch_text(text, "fuzz.yaml", {}, diags);
  tilescope::base::check(chip.has_value() == diags.ok(), "a text without mistakes is a chip");
  return 0;
}
