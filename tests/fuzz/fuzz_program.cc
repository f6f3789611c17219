// SPDX-License-Identifier: Apache-2.0
// Any text is a program or a list of mistakes, never both and never neither; a program survives the way through JSON.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arch/load.h"
#include "base/check.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "tile/program_json.h"

namespace {

using namespace tilescope;

const arch::ArchSpec& chip() {
  static const arch::ArchSpec kChip = [] {
    base::Diagnostics diags;
    auto loaded = arch::load_arch("v100", {}, diags);
    base::check(loaded.has_value(), "the device v100 loads");
    return *loaded;
  }();
  return kChip;
}

std::optional<tile::RProgram> read(std::string_view text, base::Diagnostics& diags) {
  const auto document = base::read_json(text, diags.add_source("fuzz.json"), diags);
  if (!document) return std::nullopt;
  return tile::read_program(*document, chip(), diags);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  base::Diagnostics diags;
  const auto program = read({reinterpret_cast<const char*>(data), size}, diags);
  base::check(program.has_value() == diags.ok(), "a text without mistakes is a program");
  if (!program) return 0;

  const std::string written = base::to_json(tile::to_document(*program, chip()));
  const auto again = read(written, diags);
  base::check(again.has_value(), "what was written is read");
  base::check(base::to_json(tile::to_document(*again, chip())) == written, "what is read again is the same");
  return 0;
}
