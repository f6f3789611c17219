// SPDX-License-Identifier: Apache-2.0
#include "expr/tables.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "expr/reference.h"

namespace tilescope::expr {
namespace {

// Calls visit(table, extent) for each coordinate that is read from a table.
template <class Visit>
void each_gathered(const Expression& e, const Visit& visit) {
  for (const Stage& s : e.stages)
    for (const Read& r : s.reads)
      if (const auto d = r.gathered_dim())
        visit(s.reads[static_cast<std::size_t>(r.at[*d].table)].tensor,
              e.tensors[static_cast<std::size_t>(r.tensor)].shape[*d]);
}

}  // namespace

std::vector<int> tables_of(const Expression& e) {
  std::vector<int> out;
  each_gathered(e, [&](int table, std::int64_t) {
    if (std::find(out.begin(), out.end(), table) == out.end()) out.push_back(table);
  });
  return out;
}

std::int64_t index_bound(const Expression& e, int table) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  each_gathered(e, [&](int of, std::int64_t extent) {
    if (of == table) least = std::min(least, extent);
  });
  return least;
}

std::int64_t page_rows(const Expression& e, const Stage& stage, const Read& read) {
  const auto d = read.gathered_dim();
  if (!d || *d + 1 == read.at.size()) return 1;
  const Coordinate &row = read.at[*d + 1], &page = stage.reads[static_cast<std::size_t>(read.at[*d].table)].at.back();
  const std::int64_t rows = e.tensors[static_cast<std::size_t>(read.tensor)].shape[*d + 1];
  const bool whole = page.divisor == rows && page.modulus == 0 && row.divisor == 1 && row.modulus == rows;
  return whole && page.terms == row.terms && page.offset == row.offset ? rows : 1;
}

std::vector<std::int32_t> drawn_indices(const Expression& e, int table) {
  const Tensor& t = e.tensors[static_cast<std::size_t>(table)];
  const auto greatest = static_cast<std::int64_t>(round_to(t.dtype, 0x1p40));
  return drawn_indices(t.name, t.elements(), std::min(index_bound(e, table), greatest + 1), t.indices);
}

void fail_index(const Expression& e, const Stage& stage, const Read& read, std::int64_t at, double index) {
  const std::size_t d = *read.gathered_dim();
  const Tensor &of = e.tensors[static_cast<std::size_t>(read.tensor)],
               &table =
                   e.tensors[static_cast<std::size_t>(stage.reads[static_cast<std::size_t>(read.at[d].table)].tensor)];
  throw IndexError(fmt::format("element {} of '{}' is {}, and dimension {} of '{}' has the indices 0 to {}", at,
                               table.name, index, d + 1, of.name, of.shape[d] - 1));
}

}  // namespace tilescope::expr
