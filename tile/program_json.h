// SPDX-License-Identifier: Apache-2.0
#pragma once
// rPrograms as documents: the JSON of `--program`, `--batch` and `compile --json` (docs/json.md). Only documents refer
// to axes, tensors and levels by name.

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

// A line of a batch: a whole program or a single node, with the data known about it.
struct BatchLine {
  std::string id;
  std::string group;
  std::optional<double> measured_us;
  std::optional<std::int64_t> count;  // how often it occurs; only for programs of a suite
  RProgram program;                   // of a single node: `arch` is empty
};

std::optional<RProgram> read_program(const base::Value& document, const arch::ArchSpec& arch, base::Diagnostics& diags);

// Positions for errors about a document that has been read as a program: a whole one, or one node's.
ProgramPlaces places_of(const base::Value& document, const arch::ArchSpec& arch);

// A line that has the key `nodes` is a whole program, any other one node.
std::optional<BatchLine> read_batch_line(const base::Value& line, const arch::ArchSpec& arch, SpaceCache& cache,
                                         base::Diagnostics& diags);

// The program as a document; read_program reads it back to the same program.
base::Value to_document(const RProgram& program, const arch::ArchSpec& arch);

}  // namespace tilescope::tile
