// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nodes whose results do not depend on each other, as Split has them.

#include <vector>

#include "graph/network.h"

namespace tilescope::graph {

// A node for each result, where every stage writes a result and reads inputs alone: each of its readers can then take
// its part where it lies. The node itself otherwise.
std::vector<NetworkNode> separated(NetworkNode node);

}  // namespace tilescope::graph
