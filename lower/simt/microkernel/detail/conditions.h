// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which programs of each micro-kernel a chip can run. Each question has an answer for every entry.

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/program.h"

namespace tilescope::lower {

// Adds an error for each reason why the chip cannot run the program's multiplication.
void add_refusals(const tile::Fma&, const tile::StageProgram& p, const arch::ArchSpec& chip, base::Diagnostics& diags,
                  base::Position at);
void add_refusals(const tile::Mma&, const tile::StageProgram& p, const arch::ArchSpec& chip, base::Diagnostics& diags,
                  base::Position at);
void add_refusals(const tile::Wgmma&, const tile::StageProgram& p, const arch::ArchSpec& chip, base::Diagnostics& diags,
                  base::Position at);
void add_refusals(const tile::Tcgen05&, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at);
void add_refusals(const tile::Epilogue&, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at);
void add_refusals(const tile::RowReduction&, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at);

// The same with the chip's own instruction of the name, which it has.
tile::MicroKernel on_chip(const tile::Fma&, const arch::ArchSpec& chip);
tile::MicroKernel on_chip(const tile::Mma&, const arch::ArchSpec& chip);
tile::MicroKernel on_chip(const tile::Wgmma&, const arch::ArchSpec& chip);
tile::MicroKernel on_chip(const tile::Tcgen05&, const arch::ArchSpec& chip);
tile::MicroKernel on_chip(const tile::Epilogue&, const arch::ArchSpec& chip);
tile::MicroKernel on_chip(const tile::RowReduction&, const arch::ArchSpec& chip);

}  // namespace tilescope::lower
