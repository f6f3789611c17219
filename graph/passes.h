// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simplifications of a model that change no value but by rounding, one a file of graph/passes.

#include <span>
#include <string_view>

#include "graph/model.h"

namespace tilescope::graph {

struct Pass {
  std::string_view name;   // `batch-normalisation`
  std::string_view about;  // a sentence
  void (*apply)(Model&);
};

// In the order in which they are applied.
std::span<const Pass> passes();

// Applies all of them.
void simplify(Model& m);

// Normalisations of a convolution's results by constants, in its weights: w scale/sqrt(variance + epsilon), and a bias.
void fold_batch_normalisations(Model& m);

// Leaves out nodes whose results nothing reads, and constants that no node reads.
void drop_unread_nodes(Model& m);

}  // namespace tilescope::graph
