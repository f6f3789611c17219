// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stage documents as text, and what reading them reports.

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "tests/support/build.h"
#include "tile/program_json.h"

namespace tilescope::tests {

// The text with `what` replaced by `by`, which has to be there once.
inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const auto at = text.find(what);
  if (at == std::string::npos) throw std::logic_error("no '" + std::string(what) + "' to replace");
  return text.replace(at, what.size(), by);
}

// A legal stage, one key a line, so that positions are easy to read off.
inline const std::string kStage = R"({"expr": "C[m,n] +=! A[m,k] * B[k,n]",
 "sizes": {"m": 64, "n": 96, "k": 32},
 "dtype": "f32",
 "accumulate": "f32",
 "tiles": {"smem": {"m": 16, "n": 32, "k": 8}, "reg": {"m": 2, "n": 4}},
 "mapping": {"m": {"vthread": 2, "threads": 8}, "n": {"threads": 8, "per_thread": 4}},
 "cached": {"A": "smem"},
 "padding": {"A": 1},
 "vector": {"B": 4},
 "reduction_order": ["k"],
 "unroll": 512,
 "num_stages": 2,
 "split": {"k": 2},
 "order": "row"})";

struct ReadProgram {
  std::optional<tile::RProgram> program;
  std::vector<std::string> errors;
};

inline ReadProgram read_program(const std::string& text, const arch::ArchSpec& arch) {
  base::Diagnostics diags;
  ReadProgram out;
  if (const auto document = base::read_json(text, diags.add_source("p.json"), diags))
    out.program = tile::read_program(*document, arch, diags);
  out.errors = diags.formatted_errors();
  return out;
}

// A program of one stage; the stage's first line is line 2 of the file.
inline ReadProgram read_stage(const std::string& stage, const arch::ArchSpec& arch) {
  return read_program("{\"nodes\": [\n" + stage + "]}", arch);
}

}  // namespace tilescope::tests
