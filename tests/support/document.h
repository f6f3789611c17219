// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that a test writes down as documents.

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/build.h"
#include "tile/program_json.h"

namespace tilescope::tests {

// The program of a document such as compile -o writes.
inline tile::RProgram program(std::string_view json, const arch::ArchSpec& chip) {
  base::Diagnostics diags;
  const auto document = base::read_json(json, diags.add_source("program"), diags);
  require_no_errors(diags);
  const auto p = tile::read_program(*document, chip, diags);
  require_no_errors(diags);
  return p.value();
}

// Why a document is no program, without places.
inline std::vector<std::string> refusals(std::string_view json, const arch::ArchSpec& chip) {
  base::Diagnostics diags;
  if (const auto document = base::read_json(json, diags.add_source("program"), diags))
    tile::read_program(*document, chip, diags);
  return diags.sentences();
}

}  // namespace tilescope::tests
