// SPDX-License-Identifier: Apache-2.0
#pragma once
// What groups of a network are for readers of tables: products with weights and their sizes, attention, the rest.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/network/detail/grouping.h"
#include "expr/expression.h"
#include "graph/network.h"

namespace tilescope::api {

// A sum of products of two tensors. A square is none: variances are not counted.
bool is_product(const expr::Stage& s);

// C[m,n] += A[m,k] B[k,n], with B of constants. Axes of batches and of positions count as m. Several products of equal
// m and k count as one whose n is the sum.
struct WeightProduct {
  std::int64_t m = 1, n = 1, k = 1;
};

struct GroupKind {
  std::string name;                      // gemm, gather, or that of an operator (arch::OperatorKind)
  bool attention = false;                // see kinds_of
  std::optional<WeightProduct> product;  // of a gemm
  std::int64_t elements = 0;             // of the result of its last stage
};

// In the order of the groups. Attention is a product of two tensors that the network computes or takes as inputs, each
// with an axis of its own; and what is computed of its result up to the next product with constants.
std::vector<GroupKind> kinds_of(const std::vector<NodeGroup>& groups, const graph::Network& network);

}  // namespace tilescope::api
