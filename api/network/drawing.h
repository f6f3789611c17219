// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a picture of a network shows: its nodes in layers, top to bottom, with equal runs of nodes folded.

#include <optional>
#include <string>
#include <vector>

#include "api/network/network.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// A node, or an input of the network. Views are left out: who reads one reads what it is a view of.
struct DrawnNode {
  std::string kind;       // `input` of an input; of stages in index notation, what they write
  std::string weights;    // shape of its first constant of two dimensions at least; may be empty
  std::string shape;      // of its first result
  std::vector<int> from;  // nodes whose results it reads, each once
  int layer = 0;          // below those of all nodes that it reads
  bool given = false;     // an input, or computed from constants alone: it is right above its first reader
};

// Nodes `first` to `last` stand for `times` runs of equal nodes, each of which reads the one before it.
struct DrawnRun {
  int first = 0, last = 0, times = 1;
};

struct NetworkDrawing {
  std::vector<DrawnNode> nodes;  // inputs first, then in the network's order
  std::vector<DrawnRun> runs;    // in order; they do not overlap
};

// The picture of a network or file. Runs of equal nodes are found from the longest, so that as many nodes as possible
// are folded. Nullopt after errors.
std::optional<NetworkDrawing> drawing_of_network(const NetworkSource& source, base::Diagnostics& diags);

}  // namespace tilescope::api
