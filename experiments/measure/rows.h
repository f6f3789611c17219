// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measured rows in their file format, JSON lines (docs/accuracy.md). For the .cc files of experiments/ and for tests.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "tile/program.h"

namespace tilescope::experiments {

// Rows by their key; the last row of a key counts. Where `device` is named, only its rows. A malformed line is an error
// at its position, except a last line that was cut off.
std::map<std::string, base::Map> read_kept_rows(const api::NamedText& file, base::Diagnostics& diags,
                                                std::string_view device = {});

// The measured times of one chip's operators, with a cold cache as in all predictions. Rows without `l2` count as cold.
struct MeasuredTimes {
  struct Program {
    double us = 0;
    std::optional<double> core_mhz;  // during the last repeats
  };
  struct Library {
    std::string name;
    double us = 0;
  };
  std::map<std::string, Program> programs;  // by the hash of the program (program_hash)
  // By what the operator computes (expr::text_of): the fastest library, or the copy of its bytes where there is none.
  // Rows without `operator` may be of any size, and are left out.
  std::map<std::string, Library> libraries;
};
MeasuredTimes times_in(const std::map<std::string, base::Map>& rows, std::string_view chip);

// A hash of the whole program.
std::string program_hash(const tile::RProgram& p, const arch::ArchSpec& a);
// What a program computes, as expr::text_of says it.
std::string operator_text(const tile::RProgram& p);

std::optional<double> number_in(const base::Map& row, std::string_view key);
std::string text_in(const base::Map& row, std::string_view key);

}  // namespace tilescope::experiments
