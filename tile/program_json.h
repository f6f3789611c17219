// SPDX-License-Identifier: Apache-2.0
#pragma once
// rPrograms as documents: the JSON of `--program`, `--batch` and `compile --json` (docs/json.md). Here alone
// axes, tensors and levels have names.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "tile/program.h"
#include "tile/stage_reader.h"

namespace tilescope::tile {

// A line of a batch: a program, or one node's alone, and what is known about it.
struct BatchLine {
  std::string id;
  std::string group;
  std::optional<double> measured_us;
  std::optional<std::int64_t> count;  // how often it occurs, of those of a suite
  RProgram program;                   // made for no chip in particular where the line says none
};

std::optional<RProgram> read_program(const base::Value& document, const arch::ArchSpec& arch, base::Diagnostics& diags);

// Where errors about a document stand that has been read as a program: a whole one, or one node's.
ProgramPlaces places_of(const base::Value& document, const arch::ArchSpec& arch);

// A line that has the key `nodes` is a whole program, any other one node.
std::optional<BatchLine> read_batch_line(const base::Value& line, const arch::ArchSpec& arch, SpaceCache& cache,
                                         base::Diagnostics& diags);

// The document that read_program reads back to the same program.
base::Value to_document(const RProgram& program, const arch::ArchSpec& arch);

}  // namespace tilescope::tile
