// SPDX-License-Identifier: Apache-2.0
#pragma once
// The stages of a group (tile/group.h) as one kernel, and a second one where blocks share the reduction of its only
// stage.

#include <set>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/kernel.h"
#include "tile/group.h"

namespace tilescope::lower {

// Adds the kernels to the module. `names` are those of all tensors of the program; errors stand `at` its place for
// whatever cannot be lowered; the module must not be used then. The stages are lowerable.
void lower_group(const tile::RProgram& program, const tile::GroupLayout& group, const arch::ArchSpec& chip,
                 const std::set<std::string>& names, Module& module, base::Diagnostics& diags, base::Position at);

// The kernel that adds up the parts of a split reduction in their order, one thread an element; both are numbers of
// Module::globals.
Kernel combine_parts(const tile::StageProgram& p, const arch::ArchSpec& chip, const Module& module, int partial,
                     int output);

}  // namespace tilescope::lower
