// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables: tensors of integers whose values are coordinates of other tensors.

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// Thrown where a table holds an index that the tensor which it indexes does not have; the message names both.
class IndexError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Tensors, as indices, whose values some stage takes as coordinates, each once.
std::vector<int> tables_of(const Expression& e);

// The number of indices that the table's values may be: from 0 to one less than this. It is the least extent of what it
// indexes; the table's dtype may hold fewer.
std::int64_t index_bound(const Expression& e, int table);

// Rows of each page where a read goes through pages that a table names, as E[T[i/16],i%16] does: behind the gathered
// coordinate stands x%n, of a dimension of n, and the table's last coordinate is x/n. 1 of any other read.
std::int64_t page_rows(const Expression& e, const Stage& stage, const Read& read);

// Indices drawn for a table (expr/index_draw.h), all below index_bound and representable in its dtype.
std::vector<std::int32_t> drawn_indices(const Expression& e, int table);

// Throws IndexError: element `at` of the table is `index`, and the read's gathered dimension of its tensor lacks it.
[[noreturn]] void fail_index(const Expression& e, const Stage& stage, const Read& read, std::int64_t at, double index);

}  // namespace tilescope::expr
