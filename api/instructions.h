// SPDX-License-Identifier: Apache-2.0
#pragma once
// By which of a chip's instructions operators are computed, and what a user has to hear of it: instructions that are
// left out, values that are widened; for api/ and experiments/ alone.

#include <optional>
#include <string>
#include <vector>

#include "api/compile.h"
#include "api/given.h"
#include "api/workload.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "construct/restrictions.h"
#include "tile/program.h"

namespace tilescope::api {

// The restrictions of a workload, whose operators these are. Errors at `--mma` where the chip has no matrix
// instruction of that name, where it multiplies other dtypes than an operator's, and where it cannot be lowered.
construct::Restrictions restrictions_of(const Workload& workload, const std::vector<NamedExpression>& operators,
                                        const arch::ArchSpec& a, base::Diagnostics& diags);

// Notes, each once: a matrix instruction for an operator's dtypes that cannot be lowered for the chip and is left out,
// with the reason; dtypes for which the chip has no instruction, so that values are widened, and to what. They begin
// with `about`, the chip's name where nothing else is said.
void note_instructions(const std::vector<const expr::Expression*>& operators, const arch::ArchSpec& a,
                       const std::string& about, base::Diagnostics& diags);
void note_instructions(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                       base::Diagnostics& diags);

// The same of programs, which say their matrix instruction themselves.
void note_instructions(const tile::RProgram& program, const arch::ArchSpec& a, base::Diagnostics& diags);
void note_instructions(const std::vector<GivenProgram>& programs, const arch::ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::api
