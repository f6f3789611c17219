// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernels of a program of several stages are, for people; for api/ and experiments/ only.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::api {

// The kernels in their order: "S+M", the results of the stages that share one, joined by +. A single stage is one
// kernel without a name.
std::vector<std::string> kernels_of(const tile::RProgram& p, const arch::ArchSpec& a);

// The tensors between stages with the level that holds each, "S in smem", every one once, as they are written.
std::vector<std::string> edges_of(const tile::RProgram& p);

}  // namespace tilescope::api
