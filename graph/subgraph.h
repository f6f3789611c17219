// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nodes of a network as one expression: what one kernel, or several, compute together.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "expr/expression.h"
#include "graph/network.h"

namespace tilescope::graph {

// Which nodes write and read a network's tensors. A view is its input: tensors of one root are one array.
class Uses {
 public:
  explicit Uses(const Network& network);

  // The tensor of which this one is a view, itself where it is none.
  const std::string& root(const std::string& tensor) const;
  // The node with stages that writes the array; nullopt of inputs and constants.
  std::optional<std::size_t> writer(const std::string& root) const;
  // The nodes with stages that read the array, in their order, each once.
  const std::vector<std::size_t>& readers(const std::string& root) const;
  // Whether the array is a result of the whole network.
  bool is_result(const std::string& root) const { return results_.contains(root); }

 private:
  std::map<std::string, std::string> roots_;  // of views alone
  std::map<std::string, std::size_t> writers_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  std::set<std::string> results_;
};

struct Subgraph {
  expr::Expression expression;
  // The array of each of the expression's inputs and results, by their names in it.
  std::map<std::string, std::string> arrays;
  // The node of each tensor that a stage writes, by its position among the nodes: results and what is between stages.
  std::map<std::string, std::size_t> node_of;
};

// The element type in which a chip holds and computes such elements: integers of up to 64 bits are i32, truth values
// u8. Nothing of other types than numbers.
std::optional<base::Dtype> dtype_of(Element e);

// The stages of nodes of a network, given by their numbers in ascending order, as one expression. A tensor that a node
// outside reads, or that is a result of the network, may not be read inside as well. Where a node reads another one's
// result in another shape, a stage between them copies it; it can be inlined where it splits dimensions and never joins
// any, and there is none where dimensions of one element are all that differs. Names are numbered in the order of their
// use, so that equal subgraphs have equal expressions. Nullopt, and the reason in `refusal`, where dimensions are
// joined, or the notation's limits are exceeded.
std::optional<Subgraph> subgraph_of(const Network& network, const Uses& uses, const std::vector<std::size_t>& nodes,
                                    std::string& refusal);

}  // namespace tilescope::graph
