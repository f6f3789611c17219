// SPDX-License-Identifier: Apache-2.0
#pragma once
// The programs of a stage for a GPU, by one of the searches; what these columns mean is said in targets/target.h.

#include <cstddef>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "construct/aligned_programs.h"
#include "construct/roller.h"
#include "construct/search.h"
#include "expr/expression.h"
#include "model/simt/machine.h"
#include "targets/constructed_stage.h"
#include "targets/search.h"

namespace tilescope::targets::simt {

ConstructedStage construct(const expr::Expression& stage, const arch::ArchSpec& a, const SearchOptions& how,
                           std::size_t keep, const construct::Restrictions& given);

construct::Trace search(const expr::Expression& stage, const arch::ArchSpec& a, const SearchOptions& how,
                        const construct::BatchCostModel& cost_model, base::Diagnostics& diags);

construct::AlignedPrograms aligned(const expr::Expression& stage, const arch::ArchSpec& a, std::size_t most);

// That the chip has no instruction for the expression's dtypes; empty where it has one.
std::string no_instruction(const expr::Expression& e, const model::Machine& m);

}  // namespace tilescope::targets::simt
