// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the rows of api/network/flow.h.

#include <string>
#include <vector>

#include "api/network/flow.h"
#include "arch/spec.h"
#include "graph/network.h"
#include "graph/subgraph.h"
#include "tile/program.h"

namespace tilescope::api {

struct NetworkGroupRow;

// What a picture calls the node: its kind or, of stages in index notation, the last part of its name.
std::string shown_kind(const graph::NetworkNode& n);

// The position among `nodes` of the subgraph's node that computes most.
std::size_t busiest_node(const graph::Subgraph& s);

std::vector<NetworkStageRow> stages_of(const tile::RProgram& program, const arch::ArchSpec& chip,
                                       const graph::Subgraph& s);
std::vector<NetworkPassRow> passes_of(const tile::RProgram& program);

// Runs of groups that have equal programs and read what stands as far before them.
std::vector<NetworkRunRow> runs_of(const std::vector<NetworkGroupRow>& groups);

}  // namespace tilescope::api
