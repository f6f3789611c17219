// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simplifications of a model that change no value but by rounding, one a file of graph/passes.

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "graph/model.h"

namespace tilescope::graph {

struct Pass {
  std::string_view name;   // `batch-normalisation`
  std::string_view about;  // a sentence
  void (*apply)(Model&);
  bool always = true;  // else it is no gain on every chip, and applied where asked for by name
};

// In the order in which they are applied.
std::span<const Pass> passes();

// Applies all that are always a gain.
void simplify(Model& m);

// Adds a constant under a name that begins with `name`, and returns it.
std::string add_constant(Model& m, std::string name, Constant c);

// Normalisations of a convolution's results by constants, in its weights: w scale/sqrt(variance + epsilon), and a bias.
void fold_batch_normalisations(Model& m);

// Products of one input by constants, with a constant added to each column or without, become one product of all their
// columns. A kind is what such sets of products have in common: depth, columns of each, element type, sums behind them.
std::set<std::string> kinds_of_products_of_one_input(const Model& m);
void join_products_of_one_input(Model& m, const std::set<std::string>& kinds);
void join_products_of_one_input(Model& m);  // of all kinds

// Leaves out nodes whose results nothing reads, and constants that no node reads.
void drop_unread_nodes(Model& m);

}  // namespace tilescope::graph
