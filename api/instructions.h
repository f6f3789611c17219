// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of a chip's instructions compute the operators, and the notes that the user gets about it: matrix instructions
// that are left out, and values that are widened. For api/ and experiments/ only.

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

// The restrictions of a workload with these operators. Reports an error at `--mma` if the chip has no matrix
// instruction of that name, if the instruction multiplies other dtypes than those of an operator, or if it cannot be
// lowered; and an error at `--inputs-prearranged`, `--dataflow` or `--tensor-location` if the chip does not support it.
construct::Restrictions restrictions_of(const Workload& workload, const std::vector<NamedExpression>& operators,
                                        const arch::ArchSpec& a, base::Diagnostics& diags);

// Adds notes, each once. One names a matrix instruction for an operator's dtypes that is left out because it cannot be
// lowered for the chip, with the reason. Another names dtypes that no instruction of the chip multiplies, and the dtype
// to which their values are widened. Notes begin with `about`; the second overload takes the chip's name.
void note_instructions(const std::vector<const expr::Expression*>& operators, const arch::ArchSpec& a,
                       const std::string& about, base::Diagnostics& diags);
void note_instructions(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                       base::Diagnostics& diags);

// Adds the notes about widened values for programs, which state their matrix instruction themselves.
void note_instructions(const tile::RProgram& program, const arch::ArchSpec& a, base::Diagnostics& diags);
void note_instructions(const std::vector<GivenProgram>& programs, const arch::ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::api
