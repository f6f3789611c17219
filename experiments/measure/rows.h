// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows that were measured, as they are kept (docs/measure.md): JSON lines. For the .cc files of experiments/ and for
// tests.

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

// Rows by their key, where a device is named its own alone; of one key the last. A line that is none is an error with
// its place, but for a last one that was cut off.
std::map<std::string, base::Map> read_kept_rows(const api::NamedText& file, base::Diagnostics& diags,
                                                std::string_view device = {});

// What they say of one chip's operators, measured cold as all predictions are; a row without `l2` is taken to be that.
struct MeasuredTimes {
  struct Program {
    double us = 0;
    std::optional<double> core_mhz;  // while the last repeats ran
  };
  struct Library {
    std::string name;
    double us = 0;
  };
  std::map<std::string, Program> programs;  // by the hash of the program (program_hash)
  // By operator_key the fastest one that computes the operator; where none does, the copy of its bytes.
  std::map<std::string, Library> libraries;
};
MeasuredTimes times_in(const std::map<std::string, base::Map>& rows, std::string_view chip);

// Names a program by all that it says, and an operator by its id and what it computes in.
std::string program_hash(const tile::RProgram& p, const arch::ArchSpec& a);
std::string operator_key(std::string_view id, std::string_view dtype);

std::optional<double> number_in(const base::Map& row, std::string_view key);
std::string text_in(const base::Map& row, std::string_view key);

}  // namespace tilescope::experiments
