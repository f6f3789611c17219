// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the rules of expr/rewrite.h share: a rewritten expression is what the parser makes of its text, with the ranges
// and shapes that are known.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// The expression of these stages. Of `raw`, reads, tensors and scalars may be unused, and notes are those of rewriting
// alone. Nothing, with a sentence, where index notation or inference would not take it.
std::optional<Expression> rebuilt(const Expression& raw, std::string& refusal);

// The notes that rewriting made, without those of inference.
std::vector<std::string> notes_of_rewriting(const Expression& e);

// Appends the part of another body that computes a node; its reads get the numbers that `read_of` gives them, its
// indices those from `first_index` on. Returns the node's new index. In post order such a part ends at its node and
// begins at its leftmost leaf.
template <class ReadOf>
int append(std::vector<Node>& to, const std::vector<Node>& from, int node, ReadOf read_of, int first_index = 0) {
  int first = node;
  while (from[static_cast<std::size_t>(first)].left >= 0) first = from[static_cast<std::size_t>(first)].left;
  const int moved = static_cast<int>(to.size()) - first;
  for (int i = first; i <= node; ++i) {
    Node n = from[static_cast<std::size_t>(i)];
    for_each_operand(n, [&](int& operand) { operand += moved; });
    if (n.kind == NodeKind::kRead) n.index = read_of(n.index);
    if (n.kind == NodeKind::kIndex) n.index += first_index;
    to.push_back(n);
  }
  return node + moved;
}

const Tensor& output_of(const Expression& e, const Stage& s);

std::vector<std::int64_t> sizes_of(const Stage& stage);

// A float whose rounding shows beyond the last bits of a result.
bool is_narrow_float(base::Dtype d);

}  // namespace tilescope::expr
